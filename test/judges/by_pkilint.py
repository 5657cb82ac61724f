"""Lints the DER files that are named, as lint_pkix_cert, lint_crl and lint_ocsp_response do, all in one process.

One line a file: a JSON list of the codes that were found, with the severity. The name ends in .cer, .crl or .ors.
"""

import json
import sys

from pkilint import loader, pkix
from pkilint.pkix import certificate, crl, extension, name, ocsp


def certificates():
    decoders = certificate.create_decoding_validators(name.ATTRIBUTE_TYPE_MAPPINGS, extension.EXTENSION_MAPPINGS)
    return loader.RFC5280CertificateDocumentLoader(), certificate.create_pkix_certificate_validator_container(
        decoders,
        [
            certificate.create_issuer_validator_container([]),
            certificate.create_validity_validator_container(),
            certificate.create_subject_validator_container([]),
            certificate.create_extensions_validator_container([]),
        ],
    )


def decoders():
    return [
        pkix.create_attribute_decoder(name.ATTRIBUTE_TYPE_MAPPINGS),
        pkix.create_extension_decoder(extension.EXTENSION_MAPPINGS),
    ]


def lists():
    return loader.RFC5280CertificateListDocumentLoader(), crl.create_pkix_crl_validator_container(
        decoders(),
        [
            crl.create_issuer_validator_container([]),
            crl.create_validity_validator_container([]),
            crl.create_extensions_validator_container([]),
        ],
    )


def answers():
    return loader.RFC6960OCSPResponseDocumentLoader(), ocsp.create_pkix_ocsp_response_validator_container(
        [ocsp.create_response_decoder(), *decoders()], []
    )


judges = {"cer": certificates(), "crl": lists(), "ors": answers()}


def findings(path):
    document_loader, validator = judges[path.rsplit(".", 1)[1]]
    with open(path, "rb") as file:
        document = document_loader.load_der_document(file.read(), path)
    found = {
        f"{description.finding.severity.name} {description.finding.code}"
        for result in validator.validate(document.root)
        for description in result.finding_descriptions
    }
    return sorted(found)


for path in sys.argv[1:]:
    print(json.dumps(findings(path)), flush=True)

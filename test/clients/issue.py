# A program of a stranger in Python, who knows the generated client and nothing else: issues a certificate.
import json
import os

from certwright_client import AuthenticatedClient
from certwright_client.api.cert_requests import create_cert_request
from certwright_client.api.certificate_providers import search_certificate_providers_for_policy_create_update
from certwright_client.api.certificates import (
    create_certificate,
    download_certificate_chain,
    download_certificates_as_zip,
)
from certwright_client.api.end_entities import create_new_end_entity
from certwright_client.api.policies import create_new_policy
from certwright_client.api.realms import create_new_realm, get_realms
from certwright_client.models import (
    CertificateProviderSearchRequestDto,
    CertificateProviderType,
    CreateCertReqRequestDto,
    CreateEndEntityRequestDto,
    CreatePolicyRequestDto,
    CreateRealmRequestDto,
    CryptoAlgorithm,
    KeyGenParamsDto,
    KeyPairMode,
    ValidFor,
)

client = AuthenticatedClient(base_url=os.environ["API"], token=os.environ["TOKEN"])


def done(answer):
    """The answer of a call that must succeed."""
    if answer is None or hasattr(answer, "api_error"):
        raise SystemExit(f"A call failed: {answer}")
    return answer


name = f"Python {os.getpid()}"
realm = done(create_new_realm.sync(client=client, body=CreateRealmRequestDto(name=name)))
local = CertificateProviderSearchRequestDto(certificate_provider_types=[CertificateProviderType.LOCAL])
providers = done(search_certificate_providers_for_policy_create_update.sync(client=client, body=local, size=10))
policy = done(
    create_new_policy.sync(
        client=client,
        body=CreatePolicyRequestDto(
            realm_id=realm.id,
            name=name,
            certificate_provider_id=providers.content[0].id,
            certificate_provider_configuration='{"templateSignerName":"SERVER"}',
        ),
    )
)
owner = CreateEndEntityRequestDto(realm_id=realm.id, common_name="python.example.org")
end_entity = done(create_new_end_entity.sync(client=client, body=owner))
request = done(
    create_cert_request.sync(
        client=client,
        body=CreateCertReqRequestDto(
            policy_id=policy.id,
            end_entity_id=end_entity.id,
            valid_for=ValidFor.SIX_MONTHS,
            key_pair_mode=KeyPairMode.SERVER_GEN,
            key_gen_params_dto=KeyGenParamsDto(crypto_algorithm=CryptoAlgorithm.EC),
        ),
    )
)
issued = done(create_certificate.sync(request.id, client=client))

# Parameters of each kind: a truth value, a list, a path; and realms that are not archived, by name.
certificate_id = issued.certificate.id
chain = done(download_certificate_chain.sync(certificate_id, client=client, cas_first=False))
archive = done(download_certificates_as_zip.sync(client=client, ids=[certificate_id, certificate_id]))
realms = done(get_realms.sync(client=client, archived=False, size=1000, sort=["name,desc", "createdDate"]))

# A failure is known by its code.
again = create_certificate.sync(request.id, client=client)

print(
    json.dumps(
        {
            "pem": issued.certificate_pem.pem_certificate,
            "chain": chain.pem_certificate,
            "zipName": archive.file_name,
            "knowsRealm": any(one.id == realm.id for one in realms.content),
            "secondTime": again.api_error.value,
        }
    )
)

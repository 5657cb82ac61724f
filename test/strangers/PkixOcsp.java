// Validates a certificate by Java's PKIX: `java PkixOcsp.java <root> <issuing> <leaf>`, all DER, the status of the leaf asked of
// the OCSP responder that it names. Says "valid", or the reason of the refusal.
import java.io.FileInputStream;
import java.security.cert.CertPath;
import java.security.cert.CertPathValidator;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.PKIXRevocationChecker;
import java.security.cert.PKIXRevocationChecker.Option;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

public class PkixOcsp {
    static final CertificateFactory factory = factory();

    static CertificateFactory factory() {
        try {
            return CertificateFactory.getInstance("X.509");
        } catch (Exception impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    static X509Certificate read(String path) throws Exception {
        try (FileInputStream file = new FileInputStream(path)) {
            return (X509Certificate) factory.generateCertificate(file);
        }
    }

    public static void main(String[] paths) throws Exception {
        CertPathValidator validator = CertPathValidator.getInstance("PKIX");
        PKIXRevocationChecker checker = (PKIXRevocationChecker) validator.getRevocationChecker();
        checker.setOptions(EnumSet.of(Option.NO_FALLBACK, Option.ONLY_END_ENTITY));
        PKIXParameters parameters = new PKIXParameters(Set.of(new TrustAnchor(read(paths[0]), null)));
        parameters.addCertPathChecker(checker);
        CertPath path = factory.generateCertPath(List.of(read(paths[2]), read(paths[1])));
        try {
            validator.validate(path, parameters);
            System.out.println("valid");
        } catch (CertPathValidatorException refusal) {
            System.out.println(refusal.getReason() + " " + refusal.getMessage());
        }
    }
}

// Java's own path validation (PKIX) of a certificate under revocation lists: prints `valid`, or why not. Arguments: the root,
// the issuing CA, the certificate, then the lists, all DER.
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CRL;
import java.security.cert.CertPathValidator;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertStore;
import java.security.cert.CertificateFactory;
import java.security.cert.CollectionCertStoreParameters;
import java.security.cert.PKIXParameters;
import java.security.cert.PKIXRevocationChecker;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

class Pkix {
  private static final CertificateFactory factory = factory();

  private static CertificateFactory factory() {
    try {
      return CertificateFactory.getInstance("X.509");
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  private static X509Certificate certificate(String path) throws Exception {
    try (InputStream in = Files.newInputStream(Path.of(path))) {
      return (X509Certificate) factory.generateCertificate(in);
    }
  }

  private static CRL list(String path) throws Exception {
    try (InputStream in = Files.newInputStream(Path.of(path))) {
      return factory.generateCRL(in);
    }
  }

  public static void main(String[] args) throws Exception {
    List<CRL> lists = new ArrayList<>();
    for (int index = 3; index < args.length; index++) lists.add(list(args[index]));
    CertPathValidator validator = CertPathValidator.getInstance("PKIX");
    PKIXRevocationChecker checker = (PKIXRevocationChecker) validator.getRevocationChecker();
    checker.setOptions(EnumSet.of(PKIXRevocationChecker.Option.PREFER_CRLS, PKIXRevocationChecker.Option.NO_FALLBACK));
    PKIXParameters parameters = new PKIXParameters(Set.of(new TrustAnchor(certificate(args[0]), null)));
    parameters.addCertStore(CertStore.getInstance("Collection", new CollectionCertStoreParameters(lists)));
    parameters.addCertPathChecker(checker);
    try {
      validator.validate(factory.generateCertPath(List.of(certificate(args[2]), certificate(args[1]))), parameters);
      System.out.println("valid");
    } catch (CertPathValidatorException refused) {
      System.out.println(refused.getReason() + ": " + refused.getMessage());
    }
  }
}

// Reads what was signed with ML-DSA as Bouncy Castle does, and makes a key and a signature of its own. One folder a run:
// root.der, issuing.der, leaf.der, crl.der, request.der, answer.der (a BasicOCSPResponse), store.p12, password.
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Security;
import java.security.Signature;
import java.security.cert.CertPathValidator;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509CRL;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Set;
import org.bouncycastle.asn1.ASN1BitString;
import org.bouncycastle.asn1.ASN1Encodable;
import org.bouncycastle.asn1.ASN1Sequence;
import org.bouncycastle.asn1.pkcs.CertificationRequestInfo;
import org.bouncycastle.asn1.x509.AlgorithmIdentifier;
import org.bouncycastle.jce.provider.BouncyCastleProvider;

public class Judge {
  static Path folder;

  static byte[] read(String name) throws Exception {
    return Files.readAllBytes(folder.resolve(name));
  }

  static X509Certificate certificate(String name) throws Exception {
    return (X509Certificate) CertificateFactory.getInstance("X.509", "BC").generateCertificate(open(name));
  }

  static InputStream open(String name) throws Exception {
    return new ByteArrayInputStream(read(name));
  }

  static void must(boolean holds, String what) {
    if (!holds) throw new IllegalStateException(what);
    System.out.println(what);
  }

  static boolean isRight(String algorithm, PublicKey key, byte[] contents, byte[] octets) throws Exception {
    Signature signature = Signature.getInstance(algorithm, "BC");
    signature.initVerify(key);
    signature.update(contents);
    return signature.verify(octets);
  }

  /** Whether a SIGNED{} is signed by the key. */
  static boolean isSigned(byte[] der, PublicKey key) throws Exception {
    ASN1Sequence parts = ASN1Sequence.getInstance(der);
    AlgorithmIdentifier algorithm = AlgorithmIdentifier.getInstance(parts.getObjectAt(1));
    byte[] octets = ASN1BitString.getInstance(parts.getObjectAt(2)).getOctets();
    byte[] contents = parts.getObjectAt(0).toASN1Primitive().getEncoded("DER");
    return algorithm.getParameters() == null && isRight(algorithm.getAlgorithm().getId(), key, contents, octets);
  }

  public static void main(String[] arguments) throws Exception {
    Security.addProvider(new BouncyCastleProvider());
    folder = Path.of(arguments[0]);
    X509Certificate root = certificate("root.der");
    X509Certificate issuing = certificate("issuing.der");
    X509Certificate leaf = certificate("leaf.der");
    CertificateFactory factory = CertificateFactory.getInstance("X.509", "BC");
    PKIXParameters parameters = new PKIXParameters(Set.of(new TrustAnchor(root, null)));
    parameters.setRevocationEnabled(false);
    parameters.setDate(leaf.getNotBefore());
    CertPathValidator.getInstance("PKIX", "BC").validate(factory.generateCertPath(List.of(leaf, issuing)), parameters);
    must(true, "chain");
    X509CRL list = (X509CRL) factory.generateCRL(open("crl.der"));
    list.verify(issuing.getPublicKey(), "BC");
    must(list.isRevoked(leaf), "list");
    must(isSigned(read("answer.der"), issuing.getPublicKey()), "answer");
    ASN1Encodable info = ASN1Sequence.getInstance(read("request.der")).getObjectAt(0);
    PublicKey asked =
        BouncyCastleProvider.getPublicKey(CertificationRequestInfo.getInstance(info).getSubjectPublicKeyInfo());
    must(isSigned(read("request.der"), asked), "request");
    char[] password = new String(read("password")).toCharArray();
    KeyStore store = KeyStore.getInstance("PKCS12", "BC");
    store.load(open("store.p12"), password);
    PrivateKey key = (PrivateKey) store.getKey("leaf", password);
    Signature signer = Signature.getInstance(key.getAlgorithm(), "BC");
    signer.initSign(key);
    signer.update(read("leaf.der"));
    must(isRight(key.getAlgorithm(), leaf.getPublicKey(), read("leaf.der"), signer.sign()), "store");
    KeyPair own = KeyPairGenerator.getInstance(key.getAlgorithm(), "BC").generateKeyPair();
    signer.initSign(own.getPrivate());
    signer.update(read("leaf.der"));
    Files.write(folder.resolve("theirs.sig"), signer.sign());
    Files.write(folder.resolve("theirs.spki"), own.getPublic().getEncoded());
    Files.write(folder.resolve("theirs.p8"), own.getPrivate().getEncoded());
  }
}

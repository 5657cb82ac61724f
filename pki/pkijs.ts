// The only import of pkijs and asn1js, which serve the cold, intricate forms: PKCS#12 and CMS (docs/decisions/0006).
// On import pkijs takes Node's WebCrypto for its engine, whose work runs in the libuv pool.

/** The ASN.1 values that are put into the forms, and the reader of BER with what it reads. */
export { type BaseBlock, BmpString, Constructed, fromBER, Null, OctetString } from 'asn1js'
/** The forms, and the engine that encrypts. */
export {
  type AlgorithmIdentifier,
  Attribute,
  AuthenticatedSafe,
  CertBag,
  ContentInfo,
  EncryptedContentInfo,
  EncryptedData,
  getCrypto,
  id_CertBag_X509Certificate as x509CertificateBag,
  PFX,
  PKCS8ShroudedKeyBag,
  SafeBag,
  SafeContents,
} from 'pkijs'

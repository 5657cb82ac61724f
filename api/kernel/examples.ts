// What the examples of the documentation name: the ids and certificates of an example installation. A test sends every
// example to one.
import type { Operation } from './operation.ts'

/** The id of each resource of the example installation, by the name of its entity. */
export const exampleIds = {
  Realm: '5d1f0a4e-8f4e-4b52-9a53-0f3f3f0a7c11',
  CertificateProvider: '2c9d3f10-6a0b-4f57-8d7e-1b6f0a4f7c22',
  Policy: '5f1c2a9e-3b52-4c8e-9a55-0d6f0a4f7c33',
  EndEntity: 'b2f3d6a4-8c1e-4e57-8f0b-6f2f1f1a9d44',
  CertRequest: '9e0c7b52-1d3f-4a68-b7c4-3a5e8d2f6b55',
  Certificate: 'c4a8e1d7-5f2b-4c93-a6e0-7d1b9f3c2e66',
  User: '7a3e5c19-2b8d-4f06-9c71-e4d0b6a8f377',
  ApiClient: 'e6b1d4f8-9a27-4c35-8e5d-2f7c0a3b6d88',
  Ca: '3d7f9b20-4e6a-4d18-b5c2-8a1e0f6d4c99',
  MailingList: 'f4c20b7e-1a5d-4e83-9c06-7b3e9d5a2f10',
  CertificateOrder: 'order-8b4d2e60-7c1a-4f95-a3e8-5d0b9c6f1aaa',
} as const

/** The PKCS#10 request of the example certificate request: P-256, CN=web-01, DNS web-01.example.org. */
export const examplePkcs10 =
  'MIH7MIGjAgEAMBExDzANBgNVBAMMBndlYi0wMTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABFFFQiyCeneW/gHanvx8tPAQb8xsfjzSEOm7dkQ9' +
  'LDYjUIxm6bK3gDSqRZiHqRVHYwXSke9Q9Rls0iEkqrT9FJagMDAuBgkqhkiG9w0BCQ4xITAfMB0GA1UdEQQWMBSCEndlYi0wMS5leGFtcGxlLm9y' +
  'ZzAKBggqhkjOPQQDAgNHADBEAiBjK9fCEhAFe8J0X/pfhJBHssbp4wXBLLQRZvytWU189QIgLSPxj+/y7bHw8r1AU35T99ET9rNcE4drbpxC1x8z' +
  'v/Q='

/** The token of a verification mail that the example certificate request waits for. */
export const exampleToken = 'n5dDfJf2kq0c5rXv8o3Hk7yRw1sTqZbLxE9uPmGa4Ic'

/** The secret of a SCEP challenge that the example end entity may use once. */
export const exampleChallengeSecret = 'Vw3kT8qZ1mYb6RxN4cHd7pLs'

/** A certificate that was issued elsewhere: P-256, CN=web-02, DNS web-02.example.org, of CN=Elsewhere CA. */
export const exampleCertificatePem = [
  '-----BEGIN CERTIFICATE-----',
  'MIIBozCCAUigAwIBAgIUSJXN76CZZQTTn52tqZFa3+tPEEcwCgYIKoZIzj0EAwIw',
  'FzEVMBMGA1UEAwwMRWxzZXdoZXJlIENBMCAXDTI2MTEyMTA0NTQyNVoYDzIxMjYx',
  'MDI4MDQ1NDI1WjARMQ8wDQYDVQQDDAZ3ZWItMDIwWTATBgcqhkjOPQIBBggqhkjO',
  'PQMBBwNCAAQCiPoA9kdM6jLCljtBJdldymbHCpZX8ieE0cPeQh1f/YAav1DljTbf',
  'dzYvuEbaU0KSVq1ta8exMc9wxQVRfiYoo3YwdDAdBgNVHREEFjAUghJ3ZWItMDIu',
  'ZXhhbXBsZS5vcmcwEwYDVR0lBAwwCgYIKwYBBQUHAwEwHQYDVR0OBBYEFHjF2Lv7',
  's/RwwDrvYiMtRSQkR/rlMB8GA1UdIwQYMBaAFEjxa17CAYfWZLU78XW7cCxri8Jw',
  'MAoGCCqGSM49BAMCA0kAMEYCIQCIPhblVwkJZudoBtb6YAgxLtjdy6WaOAvCXShc',
  '4fPNawIhAJDxgKg8vvOexXJPRBzG83JLwyOOg9VVFgw5rykkY0aq',
  '-----END CERTIFICATE-----',
  '',
].join('\n')

/** What is written in that certificate; the issuer is its DER Name. */
export const exampleCertificate = {
  fingerprint: '3304ee8fd880a71965d8715ba60cc908b933324c83d92e5b7414218d29baca98',
  serialNumber: '4895cdefa0996504d39f9dada9915adfeb4f1047',
  issuerDnBin: 'MBcxFTATBgNVBAMMDEVsc2V3aGVyZSBDQQ==',
} as const

/** The certificate of a CA elsewhere: P-256, CN=Former House CA. */
export const exampleCaPem = [
  '-----BEGIN CERTIFICATE-----',
  'MIIBnDCCAUGgAwIBAgIUIQQWdNCtUPSzlzFK0OX2k6/ebmgwCgYIKoZIzj0EAwIw',
  'GjEYMBYGA1UEAwwPRm9ybWVyIEhvdXNlIENBMCAXDTI2MTEyMjIyMTU0MFoYDzIx',
  'MjYxMDI5MjIxNTQwWjAaMRgwFgYDVQQDDA9Gb3JtZXIgSG91c2UgQ0EwWTATBgcq',
  'hkjOPQIBBggqhkjOPQMBBwNCAAT5J5k8u0XNqln0/ByNyLi/yiRpl2zMqLMPyRy7',
  'jlXarO03geqsXwlPRl4BaWNX/f0yCvPEKnQrT1/zrbWdTreBo2MwYTAdBgNVHQ4E',
  'FgQU621QnUdARAf0Xq2EuAz7TzisHSIwHwYDVR0jBBgwFoAU621QnUdARAf0Xq2E',
  'uAz7TzisHSIwDwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAQYwCgYIKoZI',
  'zj0EAwIDSQAwRgIhAMPZ4YMZMyvD+i7M7zyTT9YS3pSdYbIuNSBIxRQHwHwrAiEA',
  '6oc5/KFvJ3O7Jgqg2uAi2ynOrxQy4dUjPed4vWw9wPM=',
  '-----END CERTIFICATE-----',
  '',
].join('\n')

/** That PKCS#10 request in a CMS envelope for the SCEP signer of the example policy. */
export const exampleEnvelope =
  'MIICfAYJKoZIhvcNAQcDoIICbTCCAmkCAQIxggEwMIIBLAIBAoAUcqNql43wjxywiMASqbmYJbjKYAAwDQYJKoZIhvcNAQEBBQAEggEAXgPmx2AP' +
  'rsiuXI0JSLgZ3gWHqHBQDMJZAsmRHeTk1X/biV8iE5N9BoPze0+IB0Hje2gm5Kq4W+dRiUfQfkW7IKbdZqi6Ff8Ixhy/tpme5OuaUBERwd6MYElV' +
  '7ho+IQ5MHCZdxBh4aDpFtbuJgL1OzC7tBH7tp6SvKQQJEzSyQn7JNl4ZVvD7x5n2YFAotIoPGaHQb+1vBJeinszCAWqJMgwoM5sxykhA7WyfrwCy' +
  'fupXSGohWeloW06DbXVG9sOxX/lbpj3mPP53yQ8PXxeNUZPwO+eoOn4UfHbUIQ4gXTXFd0nBXLebFBpfc3/+PNJiw6AL0y00s/RNUPT909BN/jCC' +
  'AS4GCSqGSIb3DQEHATAdBglghkgBZQMEAQIEEG2hZX5vbOmwmBTgb0DnM/eAggEAyMHl1m11p0yUZYOMCuxfd8c9VLcsZwJouHNrQk78ESkrIMqi' +
  'A4Zt6Dc+FJ4y02BRsUpK0mKdrLdA0m/t7ZLoWY/p2jUqvWYzjP0At9zU0/UOhUfbS2rqPB4dcbiMTfvJPuTI4WBh3SncGCiTVtNMEQKtM0OwsL72' +
  'xp/FedH08SeK+xT4wVyzz3feNG2lCpgcx1gRcPALQ6gkLkECukkuXZyyEtKLgxgcaHRIlJN/HhUa7puB7w9/6wOSqy3wmJEpKO7RP/vYK/yHC3QA' +
  'M6yCyNV3+qafi2LOh9LjHzbShnfs0w1JwGVWO/0oGyA4qh5Gxl7DW+mv1+io/QogyGfbnA=='

/** The signed attributes of a SCEP reply that tells PENDING. */
export const exampleScepAttributes =
  'MYHNMBEGCmCGSAGG+EUBCQIxAxMBMzARBgpghkgBhvhFAQkDMQMTATMwFgYKYIZIAYb4RQEJBzEIEwY4ZjNiMmMwGAYJKoZIhvcNAQkDMQsGCSqG' +
  'SIb3DQEHATAgBgpghkgBhvhFAQkFMRIEEAABAgMEBQYHCAkKCwwNDg8wIAYKYIZIAYb4RQEJBjESBBAQERITFBUWFxgZGhscHR4fMC8GCSqGSIb3' +
  'DQEJBDEiBCDjsMRCmPwcFJr79MiZb7kkJ65B5GSbk0yklZkbeFK4VQ=='

/** A pkiconf of CMP, header and body, that is to be signed by ECDSA with SHA-256. */
export const exampleSignedPart =
  'MIGhMIGaAgECpBcwFTETMBEGA1UEAwwKQ01QIHNlcnZlcqQfMB0xGzAZBgNVBAMMEndlYi0wMS5leGFtcGxlLm9yZ6ARGA8yMDI2MTEyMzEwMDAwMFqh' +
  'DDAKBggqhkjOPQQDAqQSBBAgISIjJCUmJygpKissLS4vpRIEEEBBQkNERUZHSElKS0xNTk+mEgQQYGFiY2RlZmdoaWprbG1ub7MCBQA='

/** A pkiconf of CMP that a password protects: what its header says, and the MAC by the password of the tests. */
export const exampleMac = {
  password: 'K7f!mQ2x#Rt9v',
  asked: {
    dataBase64:
      'MIHTMIHMAgECpBcwFTETMBEGA1UEAwwKQ01QIHNlcnZlcqQfMB0xGzAZBgNVBAMMEndlYi0wMS5leGFtcGxlLm9yZ6ARGA8yMDI2MTEyMzEwMDAwMFqh' +
      'PjA8BgkqhkiG9n0HQg0wLwQQgIGCg4SFhoeIiYqLjI2OjzALBglghkgBZQMEAgECAgH0MAoGCCqGSIb3DQIJpBIEECAhIiMkJSYnKCkqKywtLi+lEgQQ' +
      'QEFCQ0RFRkdISUpLTE1OT6YSBBBgYWJjZGVmZ2hpamtsbW5vswIFAA==',
    salt: 'gIGCg4SFhoeIiYqLjI2Ojw==',
    iterationCount: 500,
    owfAlgorithm: 'SHA-256',
    macAlgorithm: 'HMAC-SHA256',
  },
  macBase64: 'yGeUHBvAQDdJwffnHGN4rE7eLm0YKKErPV5BodLN1Is=',
} as const

/** A call as an operation's example tells it: path parameters, query parameters and body. */
export interface Example {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
}

const isKnown = (name: string): name is keyof typeof exampleIds => Object.hasOwn(exampleIds, name)

/** The whole example of an operation: ids in its path that load a resource are the known ones unless stated. */
export const exampleOf = ({ on, example = {} }: Pick<Operation, 'on' | 'example'>): Required<Example> => {
  const loaded = Object.values(on).filter(({ part }) => part === 'params')
  const ids = loaded.map(({ member, entity: { name } }) => [member, isKnown(name) ? exampleIds[name] : ''] as const)
  const { params = {}, query = {}, body } = example
  return { params: { ...Object.fromEntries(ids), ...params }, query, body }
}

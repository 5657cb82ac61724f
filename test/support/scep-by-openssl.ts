// SCEP messages made and read by openssl alone, without a line of our codec. `openssl cms -sign` takes no attributes of SCEP:
// its SignedData stays as it is but for those attributes, written by `openssl asn1parse`, and the signature by `openssl dgst`.
import { randomBytes, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { openssl, tryOpenssl, type Workbench } from '../pki/openssl.ts'

/** PEM files of a device. */
export interface OpensslDevice {
  readonly keyFile: string
  readonly certificateFile: string
}

/** PEM files of a server, as GetCACert tells them: whom to encrypt to, the issuing CA, all CAs, the root. */
export interface OpensslServer {
  readonly signerFile: string
  readonly caFile: string
  readonly chainFile: string
  readonly rootFile: string
}

/** Options of openssl that choose an algorithm. */
type Options = readonly string[]

/** What a message is made of. */
export interface OpensslMessage {
  readonly type: '17' | '19' | '20' | '21' | '22'
  readonly transactionId: string
  /** DER. */
  readonly content: Uint8Array
  /** Such as `-aes128`. */
  readonly cipher?: Options
  /** Such as `rsa_padding_mode:oaep`. */
  readonly transport?: Options
  /** Such as `sha256`. */
  readonly digest?: string
  /** Such as `rsa_padding_mode:pss`. */
  readonly signature?: Options
}

/** What openssl says of a reply. */
export interface OpensslReply {
  readonly status: string
  readonly failInfo: string | null
  readonly transactionId: string
  readonly recipientNonce: string
  /** Of signature and envelope, in openssl's words; no cipher without an envelope. */
  readonly digest: string
  readonly cipher: string | null
  /** PEM, in the order of the reply. */
  readonly certificates: readonly string[]
  readonly crls: readonly string[]
}

/** A DER value: its tag, where its content begins and where it ends. */
const valueAt = (der: Buffer, at: number) => {
  const first = der[at + 1] ?? 0
  const octets = first < 0x80 ? 0 : first & 0x7f
  const content = at + 2 + octets
  return { content, end: content + (octets === 0 ? first : der.readUIntBE(at + 2, octets)) }
}

/** The DER values within one, whole. */
export const within = (der: Buffer): Buffer[] => {
  const parts: Buffer[] = []
  const { content, end } = valueAt(der, 0)
  for (let at = content; at < end; at = valueAt(der, at).end) parts.push(der.subarray(at, valueAt(der, at).end))
  return parts
}

/** A DER value of parts. */
export const around = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts)
  if (content.length < 0x80) return Buffer.concat([Buffer.of(tag, content.length), content])
  const digits = content.length.toString(16)
  const length = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')
  return Buffer.concat([Buffer.of(tag, 0x80 + length.length), length, content])
}

const flagged = (flag: string, options: Options = []): string[] => options.flatMap(option => [flag, option])

/** Certificates and CRLs in PEM, in their order. */
const pemsIn = (text: string, label: string): string[] =>
  text
    .split(`-----BEGIN ${label}-----`)
    .slice(1)
    .map(rest => {
      const [body = ''] = rest.split(`-----END ${label}-----`)
      return `-----BEGIN ${label}-----${body}-----END ${label}-----\n`
    })

/** openssl before a SCEP server, with its files on a bench. */
export class OpensslScep {
  readonly #bench: Workbench

  constructor(bench: Workbench) {
    this.#bench = bench
  }

  /** Reads GetCACert with the message that is said. */
  async server(url: string, message: string): Promise<OpensslServer> {
    const response = await fetch(`${url}?operation=GetCACert&message=${message}`)
    const bag = await this.#bench.file(Buffer.from(await response.arrayBuffer()))
    const { text } = await openssl('pkcs7', '-inform', 'DER', '-in', bag, '-print_certs')
    const [signer = '', ca = '', ...others] = pemsIn(text, 'CERTIFICATE')
    return {
      signerFile: await this.#bench.file(signer),
      caFile: await this.#bench.file(ca),
      chainFile: await this.#bench.file([ca, ...others].join('')),
      rootFile: await this.#bench.file(others.at(-1) ?? ca),
    }
  }

  /** A new key, PEM. */
  async key(...options: readonly string[]): Promise<string> {
    const path = await this.#bench.newPath()
    const kind = options.length > 0 ? options : ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048']
    await openssl('genpkey', ...kind, '-out', path)
    return path
  }

  /** A device with a certificate that it signs for itself. */
  async newcomer(name: string, keyFile?: string): Promise<OpensslDevice> {
    const own = keyFile ?? (await this.key())
    const certificateFile = await this.#bench.newPath()
    const named = ['-subj', `/CN=${name}`, '-days', '2', '-key', own, '-out', certificateFile]
    await openssl('req', '-x509', '-new', ...named)
    return { keyFile: own, certificateFile }
  }

  /** A device with the certificate (PEM) that it was given. */
  async holder(keyFile: string, certificate: string): Promise<OpensslDevice> {
    return { keyFile, certificateFile: await this.#bench.file(certificate) }
  }

  /** A PKCS#10 request, DER. */
  async pkcs10(name: string, keyFile: string, challenge?: string): Promise<Buffer> {
    // Quoted: $ and # mean something in openssl's files. Passwords hold nothing that ends or escapes a quoted text.
    const attributes = challenge === undefined ? [] : ['attributes=att', '[att]', `challengePassword="${challenge}"`]
    const lines = ['[dn]', `CN=${name}`, '[req]', 'prompt=no', 'distinguished_name=dn', 'string_mask=nombstr']
    const config = await this.#bench.file([...lines, ...attributes, ''].join('\n'))
    return (await openssl('req', '-new', '-key', keyFile, '-config', config, '-outform', 'DER')).output
  }

  /** DER IssuerAndSerialNumber of a certificate file: openssl names a signer by it. */
  async issuerAndSerial(device: OpensslDevice): Promise<Buffer> {
    const data = await this.#bench.file('data')
    const [, signedData] = within(await this.#sign(data, device, {}))
    const [info] = within(within(within(signedData as Buffer)[0] as Buffer).at(-1) as Buffer)
    return within(info as Buffer)[1] as Buffer
  }

  async #sign(file: string, device: OpensslDevice, { digest = 'sha256', signature }: Partial<OpensslMessage>) {
    const by = ['-md', digest, '-signer', device.certificateFile, '-inkey', device.keyFile]
    const how = ['-binary', '-nodetach', '-in', file, '-outform', 'DER']
    return (await openssl('cms', '-sign', ...how, ...by, ...flagged('-keyopt', signature))).output
  }

  async #attributes(type: string, transactionId: string, nonce: Buffer): Promise<Buffer[]> {
    const values = [
      ['2', `PRINTABLESTRING:${type}`],
      ['5', `FORMAT:HEX,OCTETSTRING:${nonce.toString('hex')}`],
      ['7', `PRINTABLESTRING:${transactionId}`],
    ]
    const sections = values.flatMap(([number, value]) => [
      `[attribute${number}]`,
      `type=OID:2.16.840.1.113733.1.9.${number}`,
      `values=SET:values${number}`,
      `[values${number}]`,
      `value=${value}`,
    ])
    const all = values.map(([number]) => `attribute${number}=SEQUENCE:attribute${number}`)
    const config = await this.#bench.file(['asn1=SET:all', '[all]', ...all, ...sections, ''].join('\n'))
    const path = await this.#bench.newPath()
    await openssl('asn1parse', '-genconf', config, '-noout', '-out', path)
    return within(await readFile(path))
  }

  /** A message, DER, and the nonce that its reply repeats, in upper-case hexadecimal. */
  async write(server: OpensslServer, device: OpensslDevice, message: OpensslMessage) {
    const { cipher = ['-aes128'], digest = 'sha256', transport, signature } = message
    const content = ['-in', await this.#bench.file(message.content), '-outform', 'DER', '-binary']
    const to = ['-recip', server.signerFile, ...flagged('-keyopt', transport)]
    const envelope = (await openssl('cms', '-encrypt', ...content, ...cipher, ...to)).output
    const frame = await this.#sign(await this.#bench.file(envelope), device, message)
    const [contentType, signedData] = within(frame) as [Buffer, Buffer]
    const members = within(within(signedData)[0] as Buffer)
    const info = within(within(members.pop() as Buffer)[0] as Buffer)
    const [version, sid, digestAlgorithm, attributes, algorithm] = info as [Buffer, Buffer, Buffer, Buffer, Buffer]
    const nonce = randomBytes(16)
    const ours = await this.#attributes(message.type, message.transactionId, nonce)
    const all = [...within(attributes), ...ours].toSorted((one, other) => Buffer.compare(one, other))
    const toSign = await this.#bench.file(around(0x31, ...all))
    const options = ['-sign', device.keyFile, ...flagged('-sigopt', signature), toSign]
    const { output } = await openssl('dgst', `-${digest}`, ...options)
    const parts = [version, sid, digestAlgorithm, around(0xa0, ...all), algorithm, around(0x04, output)]
    const signed = around(0x30, ...members, around(0x31, around(0x30, ...parts)))
    return { der: around(0x30, contentType, around(0xa0, signed)), nonce: nonce.toString('hex').toUpperCase() }
  }

  /** What openssl verifies and opens of a reply; throws what it says when it does not. */
  async read(bytes: Uint8Array, server: OpensslServer, device: OpensslDevice): Promise<OpensslReply> {
    const file = await this.#bench.file(bytes)
    // openssl 3.0 takes no CA from -certfile.
    const trust = ['-CAfile', server.chainFile, '-purpose', 'any']
    const { output } = await openssl('cms', '-verify', '-inform', 'DER', '-in', file, ...trust, '-binary')
    const { text } = await openssl('cms', '-cmsout', '-print', '-noout', '-inform', 'DER', '-in', file)
    const reply = {
      status: this.#valueOf(text, 3) ?? '',
      failInfo: this.#valueOf(text, 4),
      transactionId: this.#valueOf(text, 7) ?? '',
      recipientNonce: this.#valueOf(text, 6) ?? '',
      digest: /digestAlgorithm:\s+algorithm: (\S+)/.exec(text)?.[1] ?? '',
    }
    if (output.length === 0) return { ...reply, cipher: null, certificates: [], crls: [] }
    return { ...reply, ...(await this.#open(output, device)) }
  }

  async #open(envelope: Buffer, { keyFile, certificateFile }: OpensslDevice) {
    const file = await this.#bench.file(envelope)
    const { text } = await openssl('cms', '-cmsout', '-print', '-noout', '-inform', 'DER', '-in', file)
    const by = ['-inkey', keyFile, '-recip', certificateFile]
    const opened = await openssl('cms', '-decrypt', '-inform', 'DER', '-in', file, ...by, '-binary')
    const bag = await this.#bench.file(opened.output)
    const { text: pems } = await openssl('pkcs7', '-inform', 'DER', '-in', bag, '-print_certs')
    return {
      cipher: /contentEncryptionAlgorithm:\s+algorithm: (\S+)/.exec(text)?.[1] ?? null,
      certificates: pemsIn(pems, 'CERTIFICATE'),
      crls: pemsIn(pems, 'X509 CRL'),
    }
  }

  #valueOf(text: string, number: number): string | null {
    const [, after = ''] = text.split(`(2.16.840.1.113733.1.9.${number})`)
    const printed = /PRINTABLESTRING:(.*)/.exec(after.split('object:')[0] ?? '')
    const dumped = [...(after.split('object:')[0] ?? '').matchAll(/^\s+[0-9a-f]{4} - ((?:[0-9a-f]{2}[ -])+)/gm)]
    if (printed) return printed[1] ?? null
    return dumped.length === 0
      ? null
      : dumped
          .map(([, hex = '']) => hex.replaceAll(/[ -]/g, ''))
          .join('')
          .toUpperCase()
  }

  /** Whether openssl verifies a certificate (PEM) by the server's CAs, and finds in it the key of the file. */
  async isFor(certificate: string, server: OpensslServer, keyFile: string): Promise<boolean> {
    const file = await this.#bench.file(certificate)
    const { code } = await tryOpenssl(
      'verify',
      '-x509_strict',
      '-CAfile',
      server.rootFile,
      '-untrusted',
      server.chainFile,
      file,
    )
    const own = (await openssl('pkey', '-in', keyFile, '-pubout')).text
    return code === 0 && (await openssl('x509', '-in', file, '-pubkey', '-noout')).text === own
  }
}

/** The serial number of a certificate, PEM. */
export const serialOf = (pem: string): string => new X509Certificate(pem).serialNumber

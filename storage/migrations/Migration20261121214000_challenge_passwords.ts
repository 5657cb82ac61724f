// Takes the challenge passwords (and the attributes of RFC 7894) out of stored PKCS#10 requests, and the signature with
// them, as `pki/pkcs10-redaction.ts` does at the door. It has a reader of its own: a migration does not change.
import { Migration } from '@mikro-orm/migrations'

/** The DER of the OIDs of secret attributes. */
const secretOids = [
  '06092a864886f70d010907',
  '060b2a864886f70d0109100238',
  '060b2a864886f70d0109100239',
  '060b2a864886f70d010910023a',
]

const atOnce = 500

interface Value {
  readonly raw: Buffer
  readonly content: Buffer
}

const valueAt = (bytes: Buffer, start: number): Value => {
  const first = bytes[start + 1] ?? 0
  const size = first < 0x80 ? 0 : first & 0x7f
  const length = size === 0 ? first : bytes.readUIntBE(start + 2, size)
  const contentStart = start + 2 + size
  return {
    raw: bytes.subarray(start, contentStart + length),
    content: bytes.subarray(contentStart, contentStart + length),
  }
}

const childrenOf = ({ content }: Value): Value[] => {
  const values: Value[] = []
  for (let at = 0; at < content.length; at += values.at(-1)?.raw.length ?? content.length)
    values.push(valueAt(content, at))
  return values
}

const lengthOf = (length: number): Buffer => {
  if (length < 0x80) return Buffer.of(length)
  const hex = length.toString(16)
  const octets = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return Buffer.concat([Buffer.of(0x80 | octets.length), octets])
}

const built = (tag: number, parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content])
}

const isSecret = (attribute: Value): boolean => secretOids.includes(childrenOf(attribute)[0]?.raw.toString('hex') ?? '')

/** The request without its secrets; null when it has none. */
const redacted = (der: Buffer): Buffer | null => {
  const [info, algorithm] = childrenOf(valueAt(der, 0))
  const [version, subject, publicKey, attributes] = info ? childrenOf(info) : []
  if (!algorithm || !version || !subject || !publicKey || !attributes) return null
  const all = childrenOf(attributes)
  const kept = all.filter(attribute => !isSecret(attribute)).map(({ raw }) => raw)
  if (kept.length === all.length) return null
  const contents = built(0x30, [version.raw, subject.raw, publicKey.raw, built(0xa0, kept)])
  return built(0x30, [contents, algorithm.raw, Buffer.of(0x03, 0x01, 0x00)])
}

const mayHoldSecret = secretOids.map(oid => `position('\\x${oid}'::bytea in pkcs10) > 0`).join(' or ')

export class Migration20261121214000_challenge_passwords extends Migration {
  override name = 'Migration20261121214000_challenge_passwords'

  override async up(): Promise<void> {
    for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
      const rows = (await this.execute(
        `select id, pkcs10 from cert_request where id > '${after}' and (${mayHoldSecret}) order by id limit ${atOnce}`,
      )) as { id: string; pkcs10: Buffer }[]
      const last = rows.at(-1)
      if (!last) return
      after = last.id
      for (const { id, pkcs10 } of rows) await this.#replace(id, redacted(pkcs10))
    }
  }

  async #replace(id: string, pkcs10: Buffer | null): Promise<void> {
    if (pkcs10)
      await this.execute(
        `update cert_request set pkcs10 = decode('${pkcs10.toString('hex')}', 'hex') where id = '${id}'`,
      )
  }
}

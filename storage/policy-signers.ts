// What the records say about the signers of a policy (contract 10.5): read with every use of one, in one statement.
import type { EntityManager } from '@mikro-orm/postgresql'
import {
  overlapMs,
  type IssuingCa,
  type SignerKind,
  type SignerRecords,
  type SignerState,
} from '../domain/signer-rules.ts'
import { EndEntity } from './rows/end-entity.ts'
import type { Policy } from './rows/policy.ts'
import { isRevokedCa } from './revoked-cas.ts'
import { PolicySigner } from './rows/policy-signer.ts'

/** The signers of one kind of a policy. */
export interface SignerPlace {
  readonly policy: Policy
  readonly kind: SignerKind
  /** The policy that the certificates of made ones are of. */
  readonly home: Policy
}

type Json = Readonly<Record<string, string | boolean | null>>

interface Row {
  readonly issuing: Json | null
  readonly making: Json | null
  readonly next: string | null
  readonly former: readonly Json[]
  readonly signers: readonly Json[]
}

const date = (value: unknown): Date => new Date(String(value))

const caOf = (json: Json | null): IssuingCa | null =>
  json && {
    id: String(json['id']),
    algorithm: String(json['algorithm']),
    validNotBefore: date(json['notBefore']),
    validNotAfter: date(json['notAfter']),
    barred: json['barred'] === true,
  }

const stateOf = (json: Json): SignerState => ({
  certificateId: String(json['certificateId']),
  made: json['made'] === true,
  retiredDate: json['retiredDate'] === null ? null : date(json['retiredDate']),
  issuerCaId: json['issuerCaId'] as string | null,
  validNotBefore: date(json['notBefore']),
  validNotAfter: date(json['notAfter']),
  barred: json['barred'] === true,
  algorithm: String(json['algorithm']),
  curve: json['curve'] as string | null,
})

const caJson = `json_build_object('id', ca.id, 'algorithm', ca.public_key_algorithm, 'notBefore', ca.valid_not_before,
  'notAfter', ca.valid_not_after, 'barred', ca.archived or ${isRevokedCa('ca')})`

const records = `select
   (select ${caJson} from certificate_provider p join ca on ca.id = p.issuing_ca_id where p.id = ?) as issuing,
   (select ${caJson} from certificate_provider p join ca on ca.id = p.issuing_ca_id
     where p.certificate_provider_type = 'LOCAL' and (p.id = ? or p.system_provider)
     order by p.id = ? desc limit 1) as making,
   (select p.next_issuing_ca_id from certificate_provider p where p.id = ?) as next,
   (select coalesce(json_agg(${caJson} order by ca.succeeded_date desc), '[]') from ca
     where ca.certificate_provider_id = ? and ca.succeeded_date > ?) as former,
   (select coalesce(json_agg(json_build_object('certificateId', c.id, 'made', s.id is not null,
        'retiredDate', s.retired_date, 'issuerCaId', c.issuer_ca_id, 'notBefore', c.valid_not_before,
        'notAfter', c.valid_not_after, 'barred', c.archived or c.revocation_date is not null,
        'algorithm', c.cert_public_key_algorithm, 'curve', c.named_curve)
        order by s.retired_date desc nulls first), '[]')
      from certificate c left join policy_signer s on s.certificate_id = c.id and s.policy_id = ? and s.kind = ?
     where c.id in (select certificate_id from policy_signer
                     where policy_id = ? and kind = ? and (retired_date is null or retired_date > ?)
                     union all select ?::uuid)) as signers`

const nothing: Row = { issuing: null, making: null, next: null, former: [], signers: [] }

const namedBy = ({ policy, kind }: SignerPlace): string | null =>
  (kind === 'CMP' ? policy.cmpConfiguration : policy.scepConfiguration)?.signerCertificateId ?? null

/** Reads what the choice of a policy's signer hangs on. */
export const findSignerRecords = async (em: EntityManager, place: SignerPlace, now: Date): Promise<SignerRecords> => {
  const { policy, kind, home } = place
  const since = new Date(now.getTime() - overlapMs)
  const ofProvider = Array<string>(5).fill(home.certificateProviderId)
  const ofSigners = [policy.id, kind, policy.id, kind, since, namedBy(place)]
  const [row = nothing] = await em.execute<Row[]>(records, [...ofProvider, since, ...ofSigners])
  return {
    issuing: caOf(row.issuing),
    making: caOf(row.making),
    nextCaId: row.next,
    formerCas: row.former.flatMap(json => caOf(json) ?? []),
    signers: row.signers.map(stateOf),
  }
}

/** The end entity that the last made signer belongs to, unless it is archived or of another realm. */
export const findSignerOwner = async (
  em: EntityManager,
  { policy, kind, home }: SignerPlace,
): Promise<EndEntity | null> => {
  const [row] = await em.execute<{ id: string }[]>(
    `select e.id from policy_signer s join certificate c on c.id = s.certificate_id join end_entity e on e.id = c.end_entity_id
      where s.policy_id = ? and s.kind = ? and e.realm_id = ? and not e.archived
      order by s.created_date desc limit 1`,
    [policy.id, kind, home.realmId],
  )
  return row ? em.findOne(EndEntity, { id: row.id }) : null
}

/** Takes the present signer of a policy out of use; the key of SCEP goes on decrypting for some time. */
export const retireSigner = async (em: EntityManager, { policy, kind }: SignerPlace, now: Date): Promise<void> => {
  await em.nativeUpdate(PolicySigner, { policyId: policy.id, kind, retiredDate: null }, { retiredDate: now })
}

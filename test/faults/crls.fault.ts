// Two workers build the revocation lists of one CA while revocations come in; each is killed as it builds, and stopped while
// the other builds as well.
import type { EntityManager } from '@mikro-orm/postgresql'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { RunningProcess } from '../../embedded/processes/process.ts'
import { latestCrlFacts, type CrlFacts } from '../../storage/crls.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { Revocation } from '../../storage/rows/revocation.ts'
import { crlWorkflowId } from '../../workflows/ids.ts'
import { Workbench } from '../pki/openssl.ts'
import { requestAll } from '../stories/scene.ts'
import { copyCertificate } from '../support/copies.ts'
import { readCrl } from '../support/revoking.ts'
import { chanceFor } from './chance.ts'
import { eventually, openInstallation, pause, type Installation } from './installation.ts'
import { startPair, type Pair } from './pair.ts'
import { report, revoked } from './reckoning.ts'

const fault = 'worker killed as it builds a CRL beside another'
/** Certificates that are revoked meanwhile, so many in a call. */
const size = 200
const perCall = 2
/** Certificates that were revoked long before: they make a list take its time. */
const listed = 4000
/** In each round two workers are killed, and one is stopped while the other builds as well. */
const rounds = 2
const longestDelayMs = 100

const bench = new Workbench()
let installation: Installation
let pair: Pair | undefined
let caId: string

beforeAll(async () => {
  installation = await openInstallation()
  pair = await startPair(installation)
  caId = (await installation.em().findOneOrFail(CertificateProvider, { name: 'Built-in CA' })).issuingCaId ?? ''
}, 120_000)
afterAll(async () => {
  await pair?.stop()
  await installation?.stop()
  await bench.clear()
}, 60_000)

/** Certificates to be revoked, under a CA that has revoked very many. */
const makeCertificates = async (): Promise<string[]> => {
  const { call, em, orm } = installation
  const requests = await requestAll(installation, await installation.makeScene(size + 1))
  const { body } = await call('POST', '/api/v1/certificates/cert-requests', requests)
  const [copied = '', ...ids] = body.certificates.map(({ id }: { id: string }) => id)
  expect(ids).toHaveLength(size)
  await orm.em.fork().transactional(tx => copyCertificate(tx, copied, listed))
  await em().execute(
    `update certificate set serial_number = '1' || substr(md5(id::text), 2), revocation_date = now(), revocation_reason = 'SUPERSEDED'
      where id <> all(?::uuid[])`,
    [`{${ids.join(',')}}`],
  )
  return ids
}

/** Calls that revoke these, two at a time; `more()` makes another one where there is room, `all()` one for the rest. */
const revocationsOf = (certificateIds: readonly string[]) => {
  const left = [...certificateIds]
  const asked: Promise<number>[] = []
  let underWay = 0
  const ask = async (ids: readonly string[]): Promise<number> => {
    underWay += 1
    const body = { certificateIds: ids, revocationReason: 'SUPERSEDED' }
    const { status } = await installation.call('POST', '/api/v1/certificates/batch-revoke', body)
    underWay -= 1
    return status
  }
  const more = (): void => {
    if (left.length > 0 && underWay < 2) asked.push(ask(left.splice(0, perCall)))
  }
  const all = (): Promise<number[]> => {
    if (left.length > 0) asked.push(ask(left.splice(0)))
    return Promise.all(asked)
  }
  return { more, all }
}
type Revocations = ReturnType<typeof revocationsOf>

/** The connections that have the lock of the CA's lists or wait for it, as `storage/lock.ts` names it. */
const building = async (): Promise<number[]> => {
  const rows = await installation.em().execute<{ pid: number }[]>(
    `select pid from pg_locks where locktype = 'advisory' and objsubid = 1
        and (classid::bigint << 32 | objid::bigint) = hashtextextended(?, 13) order by granted desc`,
    [caId],
  )
  return rows.map(({ pid }) => pid)
}

/** Whether the one that builds has come to the end: it waits for the table that the test holds. */
const isAtStoring = async (em: EntityManager, pids: readonly number[]): Promise<boolean> => {
  const waiting = await em.execute('select 1 from pg_locks where pid = ? and relation = ?::regclass and not granted', [
    pids[0] ?? 0,
    'crl',
  ])
  return waiting.length > 0
}

/** Lets a worker build a list up to the moment at which it stores it, and then do `what` to it before it can go on. */
const caught = ({ more }: Revocations, what: (worker: RunningProcess) => void): Promise<RunningProcess> =>
  installation.em().transactional(async em => {
    await em.execute('lock table crl in share mode')
    const worker = await eventually('a worker builds a list', async () => {
      more()
      if (!(await isAtStoring(em, await building()))) return undefined
      return installation.workerOf(crlWorkflowId(caId), (pair as Pair).workers())
    })
    what(worker)
    return worker
  })

/** Stops a worker as it builds: the server does what it was told, and all that the worker has locked stays so. */
const stopped = (revocations: Revocations): Promise<RunningProcess> =>
  caught(revocations, worker => process.kill(worker.pid, 'SIGSTOP'))

/** Tells Temporal at once that what a worker had begun is to be begun by another. */
const giveUp = async (worker: RunningProcess): Promise<void> => {
  const open = await installation.em().find(Revocation, { closedDate: null })
  for (const id of [crlWorkflowId(caId), ...open.map(one => one.id)])
    // A run that was asked for may not have begun.
    await installation.giveUpAttempts(id, worker).catch(() => {})
}

/**
 * Lets the other worker build as well before the first goes on, and waits until both are through. PostgreSQL ends the
 * transaction of one that is silent for a minute: where that comes first, another is stopped.
 */
const buildBeside = async (revocations: Revocations): Promise<void> => {
  await eventually('one worker builds beside the other', async () => {
    const worker = await stopped(revocations)
    const builders = await eventually('another builds as well, or the first one is rolled back', async () => {
      await giveUp(worker)
      const pids = await building()
      return pids.length === 1 ? undefined : pids
    })
    process.kill(worker.pid, 'SIGCONT')
    return builders.length > 1
  })
  await eventually('both are through', async () => (await building()).length === 0)
}

/** Kills a worker as it builds, and another at any moment around the end of its building. */
const killBuilders = async (revocations: Revocations, chance: () => number): Promise<void> => {
  const { kill } = pair as Pair
  const worker = await stopped(revocations)
  const made = await numbersMade()
  await kill(worker, async () => expect(await numbersMade()).toEqual(made))
  await giveUp(worker)
  const next = await caught(revocations, () => {})
  await pause(chance() * longestDelayMs)
  await kill(next)
  await giveUp(next)
}

/** Notes the latest list again and again, until it is asked for what it saw. */
const watchLists = () => {
  const seen: CrlFacts[] = []
  const watching = { isOver: false }
  const look = async (): Promise<void> => {
    for (let looks = 0; looks < 10_000 && !watching.isOver; looks += 1) {
      const latest = await latestCrlFacts(installation.em(), caId)
      if (latest) seen.push(latest)
      await pause(50)
    }
  }
  const looking = look()
  return async (): Promise<readonly CrlFacts[]> => {
    watching.isOver = true
    await looking
    return seen
  }
}

/** All lists that were ever made, in the order in which they were: which one, and its number. */
const listsMade = async (): Promise<{ list: string; number: number }[]> => {
  const made = { eventType: 'CRL_ISSUED', objectId: caId } as const
  const events = await installation.em().find(AuditEvent, made, { orderBy: { id: 'asc' } })
  return events.map(({ eventDescription }) => {
    const [, delta = '', number, partition = ''] =
      /^(Delta )?CRL (\d+) of (partition \d+)?/.exec(eventDescription) ?? []
    return { list: delta + partition, number: Number(number) }
  })
}

const numbersMade = async (): Promise<number[]> => (await listsMade()).map(({ number }) => number)

const isRising = (numbers: readonly number[]): boolean =>
  numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? Infinity))

/** What the list that anybody fetches now names, each certificate once. */
const entriesNow = async (): Promise<string[]> => {
  const response = await fetch(`${installation.started.addresses.baseUrl}/pki/crl/${caId}.crl`)
  const { entries, number } = await readCrl(bench, Buffer.from(await response.arrayBuffer()))
  const latest = await latestCrlFacts(installation.em(), caId)
  expect(latest).toMatchObject({ number, entries: entries.size })
  return [...entries.keys()]
}

test('lists rise in number and lose nothing, whoever builds and dies', async () => {
  const { em } = installation
  const { workers, ready } = pair as Pair
  const chance = chanceFor(fault)
  const ids = await makeCertificates()
  const seen = watchLists()
  const revocations = revocationsOf(ids)
  const bothReady = () => Promise.all(workers().map(ready))
  for (let round = 0; round < rounds; round += 1) {
    await bothReady()
    await buildBeside(revocations)
    await killBuilders(revocations, chance)
  }
  expect(await em().count(Certificate, { id: { $in: ids }, revocationDate: null })).toBeGreaterThan(0)
  expect(new Set(await revocations.all())).toEqual(new Set([200]))
  await eventually('a CRL tells all', async () => {
    const open = { id: { $in: ids }, $or: [{ crlPending: true }, { revocationDate: null }] }
    return (await em().count(Certificate, open)) === 0
  })

  const entries = await entriesNow()
  const lists = await seen()
  const numbers = await numbersMade()
  expect(isRising(numbers)).toBe(true)
  expect(lists.map(({ number }) => number)).toEqual(lists.map(({ number }) => number).toSorted((a, b) => a - b))
  const named = await em().find(Certificate, { revocationDate: { $ne: null } }, { fields: ['serialNumber'] })
  const published = [...new Set(lists.map(({ number, fingerprint }) => `${number} ${fingerprint}`))]
  report({ fault, items: size, kills: 2 * rounds }, [
    ...(await revoked(em(), ids)),
    { what: 'entry', expected: named.map(({ serialNumber }) => serialNumber), seen: entries },
    { what: 'CRL number', expected: numbers.map(String), seen: numbers.map(String) },
    {
      what: 'published CRL',
      expected: [...new Set(lists.map(({ number }) => String(number)))],
      seen: published.map(one => one.split(' ')[0] ?? ''),
    },
  ])
}, 540_000)

const partitions = 2
const dividedFault = 'worker killed as it builds partitions and deltas of a CRL'
const dividedSize = 60

/** Has the lists divided from now on, and waits until all of them are there. */
const divide = async (): Promise<void> => {
  const { id } = await installation.em().findOneOrFail(CertificateProvider, { name: 'Built-in CA' })
  const configuration = JSON.stringify({ crlPartitions: partitions, deltaCrlHours: 12 })
  const { status } = await installation.call('PATCH', `/api/v1/certificate-providers/${id}`, { configuration })
  expect(status).toBe(200)
  await eventually('all lists are there', async () => {
    const lists = new Set((await listsMade()).map(({ list }) => list))
    return lists.size === 2 * (partitions + 1)
  })
}

/** What a partition tells in its complete list and the delta to it. */
const toldBy = async (partition: number): Promise<string[]> => {
  const parts = ['', '-delta'].map(async ending => {
    const response = await fetch(`${installation.started.addresses.baseUrl}/pki/crl/${caId}-${partition}${ending}.crl`)
    return [...(await readCrl(bench, Buffer.from(await response.arrayBuffer()))).entries.keys()]
  })
  return [...new Set((await Promise.all(parts)).flat())]
}

test('lists of partitions and deltas rise in number and lose nothing as well', async () => {
  const { call, em } = installation
  const { workers, ready } = pair as Pair
  await divide()
  const requests = await requestAll(installation, await installation.makeScene(dividedSize))
  const { body } = await call('POST', '/api/v1/certificates/cert-requests', requests)
  const ids: string[] = body.certificates.map(({ id }: { id: string }) => id)
  expect(await em().count(Certificate, { id: { $in: ids }, crlPartition: null })).toBe(0)
  const revocations = revocationsOf(ids)
  await Promise.all(workers().map(ready))
  await killBuilders(revocations, chanceFor(dividedFault))
  expect(new Set(await revocations.all())).toEqual(new Set([200]))
  await eventually('a list tells all', async () => {
    const open = { id: { $in: ids }, $or: [{ crlPending: true }, { revocationDate: null }] }
    return (await em().count(Certificate, open)) === 0
  })

  const made = await listsMade()
  for (const list of new Set(made.map(one => one.list)))
    expect(isRising(made.filter(one => one.list === list).map(({ number }) => number))).toBe(true)
  const named = await em().find(Certificate, { id: { $in: ids } }, { fields: ['serialNumber', 'crlPartition'] })
  const seen: string[] = []
  for (let partition = 1; partition <= partitions; partition += 1) {
    const told = await toldBy(partition)
    const own = named.filter(({ crlPartition }) => crlPartition === partition)
    expect(own.length).toBeGreaterThan(0)
    seen.push(...told)
    expect(new Set(told)).toEqual(new Set(own.map(({ serialNumber }) => serialNumber)))
  }
  report({ fault: dividedFault, items: dividedSize, kills: 2 }, [
    ...(await revoked(em(), ids)),
    { what: 'entry', expected: named.map(({ serialNumber }) => serialNumber), seen },
  ])
}, 540_000)

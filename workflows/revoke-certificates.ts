// Revoking, holding and releasing certificates: confirmed by their CAs, recorded, then told by a CRL.
import { allHandlersFinished, condition, setCurrentDetails, setHandler, sleep } from '@temporalio/workflow'
import { records, signing } from './activities.ts'
import { chunksOf, fewAtOnce } from './chunks.ts'
import { confirmed } from './messages.ts'
import { mustBeRun } from './own-run.ts'
import { tellState } from './run-state.ts'

/** So often the run looks whether the CRLs have followed (some ten minutes); the schedule makes them in any case. */
const mostLooks = 25
const longestPauseSeconds = 30

type Count = Awaited<ReturnType<typeof records.closeRevocation>>

const describe = ({ revoked, refused, unlisted, crlNumber }: Count): string => {
  const told =
    unlisted > 0 ? `${unlisted} not in a CRL yet` : crlNumber === null ? 'no CRL of ours' : `in CRL number ${crlNumber}`
  return `${revoked} confirmed by the CA, ${refused} refused; ${revoked > 0 ? told : 'nothing to tell'}`
}

/** Looks until the CRL of each CA tells what this run has recorded. */
const published = async (revocationId: string, begin: Count): Promise<void> => {
  if (begin.unlisted === 0) return
  tellState('UNLISTED')
  let count = begin
  for (let looks = 0; count.unlisted > 0 && looks < mostLooks; looks += 1) {
    count = await records.publishRevocation({ revocationId })
    setCurrentDetails(describe(count))
    if (count.unlisted > 0)
      await sleep(1000 * Math.min(2 ** looks, longestPauseSeconds), { summary: 'wait for the CRL' })
  }
  if (count.unlisted === 0) tellState('LISTED')
}

/** Works on the certificates of a revocation; whoever waits hears when each is confirmed or refused. */
export async function revokeCertificates(revocationId: string): Promise<Count> {
  mustBeRun(revocationId)
  let isConfirmed = false
  setHandler(confirmed, () => condition(() => isConfirmed))
  const { itemCount } = await records.beginRevocation({ revocationId })
  setCurrentDetails(`requested: ${itemCount} certificates`)
  const positions = Array.from({ length: itemCount }, (_, position) => position)
  await fewAtOnce(chunksOf(positions), async chunk => {
    const { revoked, refused } = await signing.revokePart({
      revocationId,
      from: chunk[0] ?? 0,
      to: chunk.at(-1) ?? 0,
    })
    setCurrentDetails(`${revoked} of ${itemCount} confirmed by the CA, ${refused} refused`)
  })
  const count = await records.closeRevocation({ revocationId })
  isConfirmed = true
  setCurrentDetails(describe(count))
  await published(revocationId, count)
  await condition(allHandlersFinished)
  return count
}

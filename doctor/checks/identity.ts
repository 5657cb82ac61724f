// The identity provider: whether its public keys can be had, in the way in which the API gets them.
import { issuerKeys } from '../../api/kernel/authentication.ts'
import { failed, ok, reasonOf, skipped, type Check } from '../check.ts'
import type { DoctorConfig } from '../config.ts'

const advice =
  'Is the identity provider running, and are OIDC_ISSUER (exactly as its tokens say) and OIDC_KEYS_URL right?'

/** Several keys of one algorithm are as good as one. */
const usable = (error: unknown): boolean => (error as { code?: string }).code === 'ERR_JWKS_MULTIPLE_MATCHING_KEYS'
const isNone = (error: unknown): boolean => (error as { code?: string }).code === 'ERR_JWKS_NO_MATCHING_KEY'

const refusalOf = async (ask: () => Promise<unknown>): Promise<unknown> => {
  try {
    await ask()
    return undefined
  } catch (error) {
    return error
  }
}

/** The check of the identity provider. */
export const identityChecks = ({
  OIDC_ISSUER: issuer,
  OIDC_ALGORITHMS,
  OIDC_KEYS_URL,
}: DoctorConfig): readonly Check[] => [
  {
    name: 'identity provider',
    advice,
    look: async () => {
      if (issuer === undefined) return skipped('OIDC_ISSUER is not set: it is a setting of the API')
      const keys = issuerKeys({ issuer, audiences: [], algorithms: OIDC_ALGORITHMS, keysUrl: OIDC_KEYS_URL })
      const found: string[] = []
      for (const alg of OIDC_ALGORITHMS) {
        const error = await refusalOf(async () => keys({ alg }, { payload: '', signature: '' }))
        if (error === undefined || usable(error)) found.push(alg)
        else if (!isNone(error)) return failed(reasonOf(error), advice)
      }
      if (found.length > 0) return ok(`${issuer} has keys for ${found.join(', ')}`)
      return failed(
        `${issuer} has no key for ${OIDC_ALGORITHMS.join(', ')}`,
        'Say in OIDC_ALGORITHMS what it signs with.',
      )
    },
  },
]

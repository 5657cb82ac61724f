// What operations use beside PostgreSQL and Temporal: wired once in main.ts, handed to every handler as `services`.
import type { Seal } from '../../storage/seal.ts'

/** Members join here when an operation needs them. */
export interface Services {
  /** Opens secrets of the database, such as a stored signer's private key. */
  readonly seal: Seal
}

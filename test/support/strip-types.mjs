// jest's transform: Node's own type stripping, so that the tests run the very source that production runs.
import { stripTypeScriptTypes } from 'node:module'

export default {
  process: source => ({ code: stripTypeScriptTypes(source) }),
  canInstrument: false,
}

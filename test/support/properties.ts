// What properties are tried with: the same for each run of the tests, so that what failed fails again. `SEED=<number>` draws
// others, `SEED=random` others each time; a property that fails tells its seed.
import * as fc from 'fast-check'

const usual = 20_261_122

const { SEED: wanted = String(usual) } = process.env
const seed = wanted === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(wanted)
if (!Number.isInteger(seed)) throw new Error(`SEED is no whole number and not random: ${wanted}`)

fc.configureGlobal({ seed })

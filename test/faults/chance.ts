// Seeded chance: what a run of the faults did can be done again with FAULT_SEED=<seed>.
const seed = Number(process.env['FAULT_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

/** Numbers from 0 to 1 by the seed (a linear congruential generator modulo 2^31), printed with the name of its user. */
export const chanceFor = (fault: string): (() => number) => {
  process.stdout.write(`fault: ${fault}: FAULT_SEED=${seed}\n`)
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state / 2 ** 31
  }
}

// `npm run fuzz`: each reader of foreign octets takes a million mutated messages (FUZZ_COUNT names another number), or those
// that are named do: `npm run fuzz -- pkcs10 crl`. FUZZ_SEED draws others than those of today.
import { makeFuzzSubjects } from './fuzz-subjects.ts'
import { fuzz } from './fuzzing.ts'

const count = Number(process.env['FUZZ_COUNT'] ?? 1_000_000)
const today = Math.floor(Date.now() / 86_400_000)
const seed = Number(process.env['FUZZ_SEED'] ?? today)
const wanted = new Set(process.argv.slice(2))

const subjects = (await makeFuzzSubjects()).filter(({ name }) => wanted.size === 0 || wanted.has(name))
if (subjects.length < wanted.size) throw new Error(`There are no such readers: ${[...wanted].join(' ')}`)
for (const subject of subjects) {
  const begin = performance.now()
  const { read, refused, longest } = fuzz(subject, count, seed)
  const seconds = Math.round((performance.now() - begin) / 1000)
  const told = `${read} read, ${refused} refused, none else; ${longest.toFixed(1)} ms at most`
  process.stdout.write(`${subject.name}: ${count} mutated messages (seed ${seed}) in ${seconds} s: ${told}\n`)
}

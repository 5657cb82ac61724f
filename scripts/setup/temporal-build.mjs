// The Temporal CLI built from source by Go, which tells how far it is: modules downloaded, then packages compiled.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from './record.mjs'
import { runLong } from './speech.mjs'

/** The Go module that pins the Temporal CLI and all that it is built from. */
export const moduleFolder = join(projectFolder, 'embedded/temporal-cli')

const name = 'building the Temporal CLI, once on this machine'
const program = 'github.com/temporalio/cli/cmd/temporal'

// What each kind of progress looks like in Go's output: `go: downloading <module> <version>`, a package path alone.
const lineKinds = { modules: /^go: downloading \S+ \S+$/, packages: /^[\w.~-]+(\/[\w.~-]+)*$/ }

const goProgress = tell => {
  const seen = { modules: 0, packages: 0 }
  const hear = line => {
    const kind = Object.keys(lineKinds).find(one => lineKinds[one].test(line))
    if (kind) seen[kind] += 1
    return kind !== undefined
  }
  return { seen, hear, standing: time => `${tell(seen)}, ${time}` }
}

// go.sum has a line for the source of each module, and one for its go.mod.
const moduleCount = () =>
  readFileSync(join(moduleFolder, 'go.sum'), 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.includes('/go.mod ')).length

const share = (count, total) => `${count.toLocaleString('en')} of ${total.toLocaleString('en')}`

const tellCompiled = total => seen => {
  if (total === 0) return `${seen.packages.toLocaleString('en')} packages`
  return `${share(seen.packages, total)} packages (${Math.floor((100 * seen.packages) / total)} %)`
}

const goOptions = (started, progress) => ({
  started,
  progress,
  cwd: moduleFolder,
  env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly' },
})

// Downloads the modules as well. Without a count the build goes on: it says itself what is wrong.
const countPackages = async (started, flags) => {
  const modules = moduleCount()
  const progress = goProgress(seen => `${share(seen.modules, modules)} modules downloaded`)
  const command = ['go', 'list', ...flags, '-deps', '-f', '{{if .Stale}}{{.ImportPath}}{{end}}', program]
  return runLong(name, command, goOptions(started, progress)).then(
    () => progress.seen.packages,
    () => 0,
  )
}

/** Builds the Temporal CLI of a version into a file; an earlier build that was broken off is carried on. */
export const buildTemporalCli = async (version, file) => {
  const started = Date.now()
  const flags = ['-trimpath', '-ldflags', `-s -w -X github.com/temporalio/cli/internal/temporalcli.Version=${version}`]
  const progress = goProgress(tellCompiled(await countPackages(started, flags)))
  await runLong(name, ['go', 'build', '-v', ...flags, '-o', file, program], goOptions(started, progress))
}

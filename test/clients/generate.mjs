// Generates TypeScript types from an OpenAPI document, as strangers do: `node generate.mjs <document> <types>`. The generator
// needs the API of TypeScript 5, which this project's compiler has no more: it gets the one that ts-morph carries.
import { readFileSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const compiler = 'certwright:typescript-5'

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'typescript' ? { url: compiler, shortCircuit: true } : next(specifier, context),
  load: (url, context, next) => {
    if (url !== compiler) return next(url, context)
    const source = `export { ts as default } from ${JSON.stringify(import.meta.resolve('@ts-morph/common'))}`
    return { format: 'module', source, shortCircuit: true }
  },
})

const { default: openapiTS, astToString } = await import('openapi-typescript')
const [, , document, types] = process.argv
const nodes = await openapiTS(JSON.parse(readFileSync(document, 'utf8')))
writeFileSync(types, astToString(nodes))

// End entities of tests, and random rules for them.
import * as fc from 'fast-check'
import { EndEntityProperty, RuleRequirement } from '../../domain/enums.ts'
import type { EndEntityFields } from '../../domain/end-entity-rules.ts'
import type { EndEntityRule } from '../../domain/policy-rules.ts'

/** The fields of an end entity that has none. */
export const nothing: EndEntityFields = {
  commonName: null,
  organization: null,
  organizationalUnit: null,
  country: null,
  externalId: null,
  email: null,
  domains: [],
  ips: [],
  genericDtoList: [],
}

const texts = fc.constantFrom(
  'web-.*',
  '.*example\\.org',
  '(?i)WEB.*',
  'B \\d+',
  'web-01',
  '[A-Za-z]+.\\d+',
  'a\\.example\\.org|A-.|DE',
  '(?:[a-z]+\\.)+org',
  '.+@.+\\.com',
  '',
)
const rule = fc.record({
  property: fc.constantFrom(...(Object.keys(EndEntityProperty) as EndEntityRule['property'][])),
  requirement: fc.constantFrom(...(Object.keys(RuleRequirement) as EndEntityRule['requirement'][])),
  pattern: fc.option(texts),
  genericKey: fc.constantFrom('room', "o'hara", '?'),
  maxCount: fc.option(fc.nat({ max: 2 })),
})

/** Up to four rules of any kind. */
export const someRules = fc.array(rule, { maxLength: 4 })

/** Rules of any kind behind one of DOMAIN, which templates make names for. */
export const someDomainRules = fc
  .tuple(rule, fc.array(rule, { maxLength: 2 }))
  .map(([first, more]) => [{ ...first, property: 'DOMAIN' as const }, ...more])

/** A strategy of each kind that demands something, and one that does not. */
export const someStrategy = fc.constantFrom('COMMON_NAME', 'EMAIL', 'DOMAIN', 'UUID' as const)

// The part of a CMP message that is protected: read strictly, and whatever was made to break its reader is refused.
import { randomBytes } from 'node:crypto'
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import {
  context,
  derNull,
  generalizedTime,
  integer,
  octetString,
  oid,
  sequence,
  tlv,
  utf8String,
} from '../../pki/asn1/der.ts'
import { CmpError } from '../../pki/cmp/cmp-error.ts'
import { readMacParameters } from '../../pki/cmp/mac-parameters.ts'
import { longestProtectedPart, parseProtectedPart } from '../../pki/cmp/protected-part.ts'
import { pbm, pbmac1, protectedPart } from '../support/cmp-messages.ts'
import { leastWork } from '../support/stretches.ts'
import { indefinite } from './encodings.ts'
import { mutate, mutateValue, mutation, valueMutation } from './mutations.ts'

/** What came of it: what was read, or `refused`. Whatever else is thrown is thrown on. */
const outcomeOf = (octets: Buffer): string => {
  try {
    const { protectionAlg, bodyType } = parseProtectedPart(octets)
    const { scheme } = readMacParameters(protectionAlg)
    return `${scheme} ${bodyType}`
  } catch (error) {
    if (error instanceof CmpError) return 'refused'
    throw error
  }
}

const name = context(4, sequence())
const info = sequence(oid('1.3.6.1.5.5.7.4.13'), utf8String('x'))
const optional = {
  messageTime: context(0, generalizedTime(new Date())),
  protectionAlg: context(1, pbm()),
  senderKID: context(2, octetString(Buffer.of(1))),
  recipKID: context(3, octetString(Buffer.of(1))),
  transactionID: context(4, octetString(Buffer.of(1))),
  senderNonce: context(5, octetString(Buffer.of(1))),
  recipNonce: context(6, octetString(Buffer.of(1))),
  freeText: context(7, sequence(utf8String('hello'))),
  generalInfo: context(8, sequence(info, sequence(oid('1.2.3')))),
}
const confirmation = context(19, derNull)
const partOf = (members: readonly Buffer[], body = confirmation): Buffer => sequence(sequence(...members), body)
const whole = [integer(3), name, name, ...Object.values(optional)]
const with_ = (at: number, member: Buffer): Buffer => partOf(whole.toSpliced(at, 1, member))

test('every member of a header, and every body, is read', () => {
  expect(outcomeOf(partOf(whole))).toBe('PBM 19')
  for (let type = 0; type <= 26; type++) {
    const body = context(type, type === 19 ? derNull : sequence(randomBytes(0)))
    expect(outcomeOf(partOf(whole, body))).toBe(`PBM ${type}`)
  }
  const names = [
    tlv(0xa0, oid('1.2.3')),
    tlv(0x81, Buffer.from('a@b')),
    tlv(0x82, Buffer.from('b')),
    tlv(0x87, Buffer.alloc(4)),
  ]
  for (const other of names) expect(outcomeOf(with_(1, other))).toBe('PBM 19')
})

test.each<[string, Buffer]>([
  ['nothing', Buffer.alloc(0)],
  ['a whole message', sequence(sequence(...whole), confirmation, context(0, tlv(0x03, Buffer.of(0, 1))))],
  ['a header alone', sequence(sequence(...whole))],
  ['a body of no kind', partOf(whole, context(27, sequence()))],
  ['a body that is not tagged', partOf(whole, sequence())],
  ['two bodies in one', partOf(whole, context(0, sequence(), sequence()))],
  ['a request that is NULL', partOf(whole, context(0, derNull))],
  ['a confirmation that is a request', partOf(whole, context(19, sequence()))],
  ['an implicit tag', partOf(whole, tlv(0x80, Buffer.alloc(0)))],
  ['a SET', tlv(0x31, sequence(...whole), confirmation)],
  ['octets after it', Buffer.concat([partOf(whole), Buffer.of(0)])],
  ['indefinite lengths', indefinite(partOf(whole))],
  ['version 0', with_(0, integer(0))],
  ['version 4', with_(0, integer(4))],
  ['a version of no octets', with_(0, tlv(0x02))],
  ['a sender that is no name', with_(1, sequence())],
  ['a name of two', with_(1, context(4, sequence(), sequence()))],
  ['a name of another tag', with_(1, tlv(0x84, Buffer.alloc(0)))],
  ['a time in words', with_(3, context(0, utf8String('now')))],
  ['a time that is not', with_(3, context(0, tlv(0x18, Buffer.from('20310230000000Z'))))],
  ['an algorithm that is a text', with_(4, context(1, utf8String('PBM')))],
  ['an algorithm with more members', with_(4, context(1, sequence(oid('1.2.3'), derNull, derNull)))],
  ['a nonce that is a number', with_(8, context(5, integer(1)))],
  ['members in another order', partOf(whole.toReversed())],
  ['a member twice', partOf([...whole.slice(0, 4), optional.messageTime])],
  ['a member of no number', partOf([...whole, context(9, sequence())])],
  ['a member of a tag of its own', partOf([...whole, tlv(0x89, Buffer.alloc(1))])],
  ['no text at all', with_(10, context(7, sequence()))],
  ['a text of another kind', with_(10, context(7, sequence(octetString(Buffer.alloc(1)))))],
  ['101 texts', with_(10, context(7, sequence(...Array.from({ length: 101 }, () => utf8String('')))))],
  ['an information of three', with_(11, context(8, sequence(sequence(oid('1.2.3'), derNull, derNull))))],
  ['a megabyte and more', partOf(whole, context(0, sequence(octetString(Buffer.alloc(longestProtectedPart)))))],
  ['half a million values', sequence(sequence(Buffer.alloc(1_000_000, Buffer.of(0x05, 0))), confirmation)],
  ['a megabyte of sequences', Buffer.alloc(1_000_000, 0x30)],
  ['a megabyte of noise', Buffer.concat([Buffer.of(0x30, 0x83, 0x0f, 0xff, 0xfb), randomBytes(1_048_571)])],
  ['a length of 4 GiB', Buffer.from('3084ffffffff0101', 'hex')],
])('%s is refused', (_, octets) => {
  expect(outcomeOf(octets)).toBe('refused')
})

const originals = [
  partOf(whole),
  protectedPart({ protectionAlg: pbmac1({ keyLength: 32 }) }),
  protectedPart({ protectionAlg: pbm(), body: context(0, sequence(sequence(integer(0), sequence(sequence())))) }),
]
const runs = 1000

test.each([
  ['octets', mutation.map(changes => (octets: Buffer) => changes.reduce(mutate, octets))],
  ['values', valueMutation.map(change => (octets: Buffer) => mutateValue(octets, change))],
])('1,000 changes of %s are read or refused, within 100 ms', (_, changes) => {
  const outcomes = new Map<string, number>()
  const limit = 100
  const property = fc.property(changes, fc.nat(originals.length - 1), (change, which) => {
    const octets = change(originals[which] ?? Buffer.alloc(0))
    let outcome = ''
    expect(leastWork(() => (outcome = outcomeOf(octets)), limit)).toBeLessThan(limit)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  })
  fc.assert(property, { numRuns: runs })
  expect([...outcomes.values()].reduce((sum, count) => sum + count, 0)).toBe(runs)
  expect(outcomes.size).toBeGreaterThan(2)
})

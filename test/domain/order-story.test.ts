// The way of each request of an order, as operators read it in the details of its run.
import { expect, test } from '@jest/globals'
import { storyOf, type OrderedRequest } from '../../domain/order-story.ts'

const waiting: OrderedRequest = {
  certRequestId: 'r1',
  requestedDate: '2026-11-22T08:00:00.000Z',
  requestedBy: { type: 'API_CLIENT', id: 'gateway' },
  verifiedDate: null,
  requiresManualApproval: true,
  dualControl: true,
  decisions: [],
  status: 'PENDING_APPROVAL',
  item: 'RUNNING',
  failure: null,
  certificateId: null,
  issuedDate: null,
}
const approvedAt = (date: string) => ({ date, by: { type: 'USER', id: 'u1' }, action: 'APPROVE' }) as const
const linesOf = (request: Partial<OrderedRequest>): string[] => storyOf([{ ...waiting, ...request }]).split('\n')

test('a request that waits says for what, and how much of it is there', () => {
  expect(linesOf({})).toEqual([
    'Certificate request r1: **waits for approval, 0 of 2 given**',
    '',
    '- 2026-11-22T08:00:00.000Z requested by API_CLIENT gateway',
  ])
  const decisions = [approvedAt('2026-11-22T09:00:00.000Z')]
  expect(linesOf({ decisions })[0]).toContain('1 of 2 given')
  expect(linesOf({ decisions, dualControl: false })[0]).toContain('1 of 1 given')
  expect(linesOf({ status: 'REQUIRES_EMAIL_VERIFICATION' })[0]).toContain('waits for the e-mail address to be verified')
})

test('the steps stand in the order of their dates', () => {
  const lines = linesOf({
    requestedBy: { type: 'SYSTEM', id: null },
    verifiedDate: '2026-11-22T08:30:00.000Z',
    decisions: [approvedAt('2026-11-22T09:00:00.000Z')],
    status: 'ISSUED',
    item: 'COMPLETED',
    certificateId: 'c1',
    issuedDate: '2026-11-22T09:00:01.000Z',
  })
  expect(lines).toEqual([
    'Certificate request r1: **completed**',
    '',
    '- 2026-11-22T08:00:00.000Z requested by SYSTEM',
    '- 2026-11-22T08:30:00.000Z e-mail address verified',
    '- 2026-11-22T09:00:00.000Z approved by USER u1',
    '- 2026-11-22T09:00:01.000Z issued: certificate c1',
  ])
})

test('what ended without a certificate says how', () => {
  const by = { type: 'USER', id: 'u1' } as const
  const declined = linesOf({
    status: 'DECLINED',
    item: 'CANCELED',
    decisions: [{ date: '2026-11-22T09:00:00.000Z', by, action: 'DECLINE' }],
  })
  expect([declined[0], declined.at(-1)]).toEqual([
    'Certificate request r1: **canceled**',
    '- 2026-11-22T09:00:00.000Z declined by USER u1',
  ])
  expect(linesOf({ item: 'FAILED', failure: 'ORDER_EXPIRED' })[0]).toContain('**failed: ORDER_EXPIRED**')
  expect(linesOf({ status: 'APPROVED' })[0]).toContain('**in progress**')
})

test('several requests stand one after the other', () => {
  expect(storyOf([waiting, { ...waiting, certRequestId: 'r2' }]).match(/^Certificate request r\d/gm)).toEqual([
    'Certificate request r1',
    'Certificate request r2',
  ])
})

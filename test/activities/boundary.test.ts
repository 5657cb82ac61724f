// What activities throw: refusals become failures with a code, all else is tried again.
import { expect, test } from '@jest/globals'
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common'
import { withBoundary } from '../../activities/boundary.ts'
import { Failure } from '../../domain/failure.ts'
import { run } from './fixture.ts'

const activities = withBoundary({
  answer: async (input: number) => input + 1,
  refuse: async () => {
    throw new Failure('WEAK_KEY', 'The key is weak.')
  },
  stumble: async () => {
    throw new TypeError('not a function')
  },
  pass: async () => {
    throw ApplicationFailure.retryable('later', 'BUSY')
  },
})

const errorOf = (activity: (input: never) => Promise<unknown>) =>
  run(activity as (input: undefined) => Promise<unknown>, undefined).catch((error: unknown) => error)

test('an answer passes unchanged', async () => {
  expect(await run(activities.answer, 1)).toBe(2)
})

test('a refusal becomes a failure with its code that is not tried again and raises no alarm', async () => {
  const error = await errorOf(activities.refuse)
  expect(error).toBeInstanceOf(ApplicationFailure)
  expect(error).toMatchObject({
    type: 'WEAK_KEY',
    message: 'The key is weak.',
    nonRetryable: true,
    category: ApplicationFailureCategory.BENIGN,
  })
})

test('anything else stays what it was, so that it is tried again', async () => {
  const error = await errorOf(activities.stumble)
  expect(error).toBeInstanceOf(TypeError)
  expect(error).not.toBeInstanceOf(ApplicationFailure)
  expect(await errorOf(activities.pass)).toMatchObject({ type: 'BUSY', nonRetryable: false })
})

// The texts of failures.
import { expect, test } from '@jest/globals'
import { Failure, apiErrors } from '../../domain/failure.ts'

test('a failure without a message of its own says the description of its code', () => {
  expect(new Failure('WEAK_KEY').message).toBe(apiErrors.WEAK_KEY.description)
})

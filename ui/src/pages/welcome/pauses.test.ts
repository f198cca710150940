import { expect, test } from 'vitest'
import { lookAgain } from './pauses'

test('servers are looked for while there are none, ever more rarely', () => {
  expect([1, 2, 3, 4, 5, 6, 7].map((n) => lookAgain(0, n) / 1000)).toEqual([10, 20, 40, 80, 160, 300, 300])
  expect(lookAgain(2, 1)).toBe(0)
})

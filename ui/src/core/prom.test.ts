import { expect, it } from 'vitest'
import { spread } from './prom'

it('leaves gaps where there are no values', () => {
  const a =
    { data: {
    result: [
    { metric: { target: 'shop' },
    values: [[100, '1'], [130, '2.5'], [145, 'NaN'], [999, '9']] as [number, string][] }] } }
  expect(spread(a, 100, 160, 15)).toEqual([{ labels: { target: 'shop' }, values: [1, null, 2.5, null, null] }])
})

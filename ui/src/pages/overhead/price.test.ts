import { expect, test } from 'vitest'
import { rowsOf, slowedBy, useOf } from './price'
import type { Price } from '../../core/openapi.gen'

const price: Price = {
  target: 'shop', from: '2026-11-03T12:00:00Z', to: '2026-11-03T12:05:00Z', server_seconds_per_second: 0.004,
  sources: [
    { name: 'global_status', readings: 300, every_seconds: 1, server_seconds_per_second: 0.003, mean_ms: 3, low_ms: 2.9,
      high_ms: 3.1 },
    { name: 'query_classes', readings: 0, every_seconds: 0, server_seconds_per_second: 0.001 },
  ],
}

test('prices are joined with budgets; what was not read stays unknown', () => {
  const rows = rowsOf(price, [
    { name: 'global_status', state: 'ok', reads: 1, cost: 'light', every_seconds: 4, usual_seconds: 0,
      budget_seconds_per_second: 0.01, about: 'SHOW GLOBAL STATUS' },
    { name: 'locks', state: 'denied', reads: 0, cost: 'light', budget_seconds_per_second: 0.1 },
    { name: 'digests', state: 'ok', reads: 1 },
  ])
  expect(rows.map((r) => r.name)).toEqual(['global_status', 'query_classes', 'locks'])
  const [a, b, c] = rows
  if (!a || !b || !c) throw new Error('rows are missing')
  expect(a.share).toBeCloseTo(0.75)
  expect(useOf(a)).toBeCloseTo(0.3)
  expect(slowedBy(a)).toBe(4)
  expect(useOf(b)).toBeUndefined()
  expect(b.readings).toBeUndefined()
  expect(c.server).toBeUndefined()
  expect(slowedBy(c)).toBe(1)
})

test('a price without figures has no rows made up', () => {
  expect(rowsOf({ target: 'x', from: '', to: '' }, [])).toEqual([])
})

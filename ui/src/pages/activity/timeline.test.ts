import { expect, test } from 'vitest'
import { area, thinned, ticksOf, type Mark } from './timeline'

test('an area has gaps where nothing was seen', () => {
  expect(area([], 0, 10, 100, 1)).toBe('')
  expect(area([[1, 2], [2, 1]], 0, 10, 100, 2)).toBe('M0.0 46V8.0H10.0V27.0H20.0V46Z')
  expect(area([[1, 2], [2, 2], [8, 2]], 0, 10, 100, 2).match(/M/g)?.length).toBe(2)
  expect(area([[1, NaN]], 0, 10, 100, 2)).toBe('')
})

test('ticks are round and few', () => {
  const t = ticksOf(1_000_003, 1_000_903, 8)
  expect(t.length).toBeGreaterThan(3)
  expect(t.length).toBeLessThanOrEqual(9)
  for (const x of t) expect(x % 60).toBe(0)
  expect(ticksOf(0, 1, 2).length).toBeLessThanOrEqual(3)
})

test('of marks on one pixel one is drawn, which counts the others', () => {
  const mark = (t: number, text = ''): Mark => ({ at: new Date(t * 1000).toISOString(), kind: 'ddl', text })
  expect(thinned([mark(10, 'a'), mark(10.2, 'b'), mark(10.4, 'c'), mark(50, 'd\u202e'), mark(99, 'late'),
    { at: 'never', kind: 'x', text: '' }], 0, 90, 90)).toEqual([
    { x: 10, title: 'ddl: a, and 2 more' },
    { x: 50, title: 'ddl: d⟨RLO⟩' },
  ])
  const many = Array.from({ length: 5000 }, (_, i) => mark(i / 50))
  expect(thinned(many, 0, 100, 300).length).toBeLessThanOrEqual(301)
})

import { describe, expect, it } from 'vitest'
import { sorted, tabStop, windowOf } from './tablerows'

interface R {
  n: string
  v?: number
}
const rows: R[] = [{ n: 'b10', v: 2 }, { n: 'b9' }, { n: 'a', v: 10 }, { n: 'c', v: NaN }]
const columns = [
  { key: 'n', value: (r: R) => r.n },
  { key: 'v', value: (r: R) => r.v },
  { key: 's', sort: (a: R, b: R) => a.n.length - b.n.length },
  { key: 'none' },
]
const names = (order: string) => sorted(rows, columns, order).map((r) => r.n).join(' ')

describe('sorted', () => {
  it('sorts both ways with the unknown last', () => {
    expect(names('v')).toBe('b10 a b9 c')
    expect(names('-v')).toBe('a b10 b9 c')
  })
  it('knows numbers in names', () => {
    expect(names('n')).toBe('a b9 b10 c')
    expect(names('-n')).toBe('c b10 b9 a')
  })
  it('keeps ties and unknown columns as they came', () => {
    expect(names('s')).toBe('a c b9 b10')
    for (const o of ['', 'none', 'nothing', '-']) expect(names(o)).toBe('b10 b9 a c')
  })
})

describe('windowOf', () => {
  it('covers what is in sight, and begins with an even row', () => {
    const w = windowOf(10_000, 33, 33 * 5000, 600)
    expect(w.first).toBeLessThanOrEqual(5000)
    expect(w.last).toBeGreaterThanOrEqual(5000 + 19)
    expect(w.first % 2).toBe(0)
    expect(w.last - w.first).toBeLessThan(60)
  })
  it('stays within', () => {
    expect(windowOf(10, 33, 0, 600)).toEqual({ first: 0, last: 10 })
    expect(windowOf(10, 33, 1e9, 600).last).toBe(10)
  })
})

describe('tabStop', () => {
  it('is the row that the keyboard is on, or one in sight', () => {
    expect(tabStop(['a', 'b', 'c'], 'c', 0)).toBe('c')
    expect(tabStop(['a', 'b', 'c'], 'gone', 1)).toBe('b')
    expect(tabStop(['a', 'b', 'c'], 'gone', 9)).toBe('c')
    expect(tabStop(['a', 'b', 'c'], 'gone', -2)).toBe('a')
    expect(tabStop([], 'gone', 0)).toBe(null)
  })
})

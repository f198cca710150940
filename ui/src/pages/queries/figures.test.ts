import { expect, test } from 'vitest'
import { courseOf, covered, find, howMany, longestOf, rowOf, spread, whole } from './figures'
import type { Bucket, ClassRow as Class } from '../../core/openapi.gen'

const c = (more: Partial<Class> = {}): Class =>
  ({ id: 'A', fingerprint: 'select ?', origin: 'performance_schema', count: 600, time_sec: 30, ...more })
const cover = { observed_seconds: 60, time_sec: 120, count: 1000 }

test('the longest execution', () => {
  const b = (max_sec?: number): Bucket => ({ from: '', to: '', class: c(max_sec === undefined ? {} : { max_sec }) })
  const f = (whole: number | undefined, parts: (number | undefined)[], want: number | undefined) =>
    expect(longestOf({ class: c(whole === undefined ? {} : { max_sec: whole }), coverage: cover, buckets: parts.map(b),
      tables: [], table_definitions: [], examples: [], plans: [] })).toBe(want)
  f(undefined, [], undefined)
  f(undefined, [undefined, 0.25, 13.7, undefined], 13.7) // what a graph shows is no longer unknown above it
  f(20, [0.25], 20)
})

test('figures of a class', () => {
  const r = rowOf(c({ rows_examined: 6000, rows_sent: 60, errors: 0 }), cover)
  expect(r).toMatchObject({ share: 0.25, load: 0.5, perSec: 10, mean: 0.05, examined: 10, perSent: 100, errors: 0 })
})

test('what is not known stays so', () => {
  const r = rowOf(c({ sampled: true }), cover)
  expect(r.mean).toBeUndefined()
  expect(r.examined).toBeUndefined()
  expect(r.errors).toBeUndefined()
  expect(rowOf(c({ rows_examined: 5, rows_sent: 0 }), cover).perSent).toBeUndefined()
  const none = rowOf(c(), { observed_seconds: 0 })
  expect([none.load, none.share, none.perSec]).toEqual([undefined, undefined, undefined])
})

test('coverage is reported when it is partial', () => {
  expect(covered(3600, { observed_seconds: 3540 }, true)).toBeUndefined()
  expect(covered(3600, { observed_seconds: 2520 }, true)).toEqual({ text: 'data covers 42 of 60 min', little: false })
  expect(covered(3600, { observed_seconds: 90 }, false)).toEqual({ text: 'data covers 1.5 of 60 min', little: true })
  expect(covered(86400, { observed_seconds: 43200 }, false)).toEqual({ text: 'data covers 12 of 24 h', little: false })
  expect(covered(7 * 86400, { observed_seconds: 86400 }, true)).toEqual({ text: 'data covers 1 of 7 d', little: true })
})

const bucket = (min: number, count: number, time: number, more: Partial<Class> = {}): Bucket => ({
  from: new Date(min * 60000).toISOString(), to: new Date((min + 1) * 60000).toISOString(),
    class: c({ count, time_sec: time, ...more }),
})

test('a course has gaps where nothing was observed, and zeros where nothing ran', () => {
  const x = courseOf([bucket(0, 60, 6), bucket(1, 0, 0), bucket(5, 120, 6)])
  expect(x.x).toEqual([30, 90, 210, 330])
  expect(x.load).toEqual([0.1, 0, null, 0.1])
  expect(x.perSec).toEqual([1, 0, null, 2])
  expect(x.mean).toEqual([0.1, null, null, 0.05])
  expect(courseOf([]).x).toEqual([])
})

test('the spread counts every call once', () => {
  const bins =
    spread([bucket(0, 10, 0.01), bucket(1, 20, 0.02), bucket(2, 5, 50), bucket(3, 0, 0),
    bucket(4, 9, 9, { sampled: true })])
  expect(bins[0]).toMatchObject({ calls: 30, minutes: 2 })
  expect(bins[bins.length - 1]).toMatchObject({ calls: 5, minutes: 1 })
  expect(bins.reduce((a, b) => a + b.calls, 0)).toBe(35)
  for (const b of bins) expect(b.to / b.from).toBeCloseTo(10 ** (1 / 6))
  expect(spread([])).toEqual([])
})

test('a search takes every word', () => {
  const rows = [rowOf(c({ fingerprint: 'select * from Orders', schema: 'shop' }), cover),
    rowOf(c({ fingerprint: 'update items' }), cover)]
  expect(find(rows, 'orders SHOP').length).toBe(1)
  expect(find(rows, '').length).toBe(2)
  expect(find(rows, 'select items').length).toBe(0)
})

test('a window moves by whole buckets', () => {
  const all = [bucket(0, 1, 1), bucket(1, 1, 1)]
  expect(whole(all, 61, 3661)).toEqual([60, 3660])
  expect(whole(all, 119.9, 3719)).toEqual([60, 3660])
  expect(whole(all, 10, 100)).toEqual([0, 120])
  expect(whole([], 61, 3661)).toEqual([61, 3661])
})

test('what was searched is shown', () => {
  expect(howMany(7, 7, 7, '')).toBe('7 classes')
  expect(howMany(1, 7, 7, 'x')).toBe('1 of 7 classes')
  expect(howMany(200, 200, 10_000, ' ')).toBe('the top 200 of 10\u202f000 classes by time')
  const part = '2 of the top 200 of 10\u202f000 classes by time; the others '
  expect(howMany(2, 200, 10_000, 'x', {})).toBe(part + 'are being searched')
  expect(howMany(2, 200, 10_000, 'x', { error: new Error('no') })).toBe(part + 'were not searched')
  expect(howMany(2, 200, 10_000, 'x', { value: { found: 2 } })).toBe('2 of 10\u202f000 classes')
  expect(howMany(200, 200, 10_000, 'x', { value: { found: 1234 } })).toBe(
    'the top 200 by time of 1\u202f234 matches, of 10\u202f000 classes')
})

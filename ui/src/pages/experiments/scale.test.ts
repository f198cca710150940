import { describe, expect, test } from 'vitest'
import { figureOf, fromZero, ladder, nest, ofRatios, place, ratioTick, reaches, spread, tick } from './scale'

describe('figures of trials', () => {
  test('they are in the unit of their head', () => {
    expect([figureOf(0.8734, 'share'), figureOf(0.07, 'share'), figureOf(1, 'share'), figureOf(0, 'share')]).toEqual(
      ['87.3', '7.00', '100', '0'])
    expect([figureOf(134217728, 'B'), figureOf(1500 * 1024, 'B/s'), figureOf(512, 'B')]).toEqual(
      ['128 MiB', '1.46 MiB', '512 B'])
    expect([figureOf(0.8734), figureOf(0.8734, 'ms'), figureOf(1234.5, '1/s'), figureOf(134217728, 'rows')]).toEqual(
      ['0.873', '0.873', '1235', '134.2M'])
    expect([figureOf(undefined, 'share'), figureOf(NaN, 'B')]).toEqual(['–', '–'])
  })
})

describe('axes', () => {
  test('values begin at zero and end at a round number', () => {
    expect(fromZero([3, 97])).toEqual({ lo: 0, hi: 100, log: false, ticks: [0, 20, 40, 60, 80, 100] })
    expect(fromZero([])).toEqual({ lo: 0, hi: 1, log: false, ticks: [0, 1] })
    expect(fromZero([0.0123]).hi).toBeCloseTo(0.0125)
    expect(fromZero([Infinity, 2]).hi).toBe(2)
  })
  test('1 is on every axis of ratios', () => {
    for (const vs of [[1.5, 2], [0.2, 0.4], [1e-7, 5000], [1.001, 1.002], [], [NaN, -1]]) {
      const a = ofRatios(vs)
      expect(a.lo).toBeLessThanOrEqual(1)
      expect(a.hi).toBeGreaterThanOrEqual(1)
      expect(a.hi).toBeGreaterThan(a.lo)
      expect(a.ticks.length).toBeLessThan(14)
      for (const v of vs) if (v > 0) expect(place(a, v)).toBeGreaterThanOrEqual(0)
    }
    expect(ofRatios([0.5, 0.9]).log).toBe(false)
    expect(ofRatios([0.01, 3]).log).toBe(true)
  })
  test('places keep their order and their ends', () => {
    const a = ofRatios([0.01, 3])
    expect(place(a, 0.01)).toBeLessThan(place(a, 1))
    expect(place(a, 1)).toBeLessThan(place(a, 3))
    expect(place(a, 1e30)).toBe(1)
    expect(place(a, 0)).toBe(0)
  })
  test('ticks', () => {
    expect(ratioTick(0.05, ofRatios([0.01, 3]))).toBe('÷20')
    expect(ratioTick(2, ofRatios([0.01, 3]))).toBe('×2')
    expect(ratioTick(1, ofRatios([0.9, 1.3]))).toBe('×1.0')
    expect([tick(1500), tick(0.25), tick(2.5e6), tick(20000), tick(0)]).toEqual(['1500', '0.25', '2.5M', '20k', '0'])
  })
  test('doubling levels are equally far apart by their logarithms', () => {
    expect(spread([1, 2, 4], true)).toEqual([0, 0.5, 1])
    expect(spread([1, 2, 5], false)).toEqual([0, 0.25, 1])
    expect(spread([7], false)).toEqual([0.5])
  })
})

describe('the ladder', () => {
  const cell = (name: string, center: number | null, first = false) => ({
    name, first, toFirst: !first, sign: '', word: '',
      of: center === null ? null : { center, lo: center * 0.9, hi: center * 1.1 },
  })
  test('the product of the steps is the whole factor', () => {
    const steps = ladder([cell('a', null, true), cell('b', 2), cell('c', 3), cell('d', 1.5)])
    expect(steps?.map((s) => s.total)).toEqual([1, 2, 3, 1.5])
    expect(steps?.map((s) => s.step)).toEqual([null, 2, 1.5, 0.5])
  })
  test('over a step that was not measured nothing is said', () => {
    const steps = ladder([cell('a', null, true), cell('b', null), cell('c', 3)])
    expect(steps?.map((s) => s.step)).toEqual([null, null, null])
  })
  test('levels with another baseline are none', () => {
    expect(ladder([cell('a', 1), cell('b', 2), cell('c', 2)])).toBeNull()
    expect(ladder([cell('a', null, true), cell('b', 2)])).toBeNull()
    expect(ladder([cell('a', null, true), { ...cell('b', 2), toFirst: false }, cell('c', 2)])).toBeNull()
  })
})

describe('nested heads', () => {
  const rows = [['0', 'off', '1'], ['0', 'on', '1'], ['0', 'on', '1000'], ['1', 'on', '1']]
  test('neighbours that are equal so far share one', () => {
    expect(nest(rows, 0).map((h) => [h.text, h.span])).toEqual([['0', 3], ['1', 1]])
    expect(nest(rows, 1).map((h) => [h.text, h.span])).toEqual([['off', 1], ['on', 2], ['on', 1]])
  })
  test('labels reach down, the last level never', () => {
    expect(rows.map((_, i) => reaches(rows, i, 0))).toEqual([3, 0, 0, 1])
    expect(rows.map((_, i) => reaches(rows, i, 1))).toEqual([1, 2, 0, 1])
    expect(rows.map((_, i) => reaches(rows, i, 2))).toEqual([1, 1, 1, 1])
  })
})

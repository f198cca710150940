import { describe, expect, it } from 'vitest'
import { bullet, decadeAbove, onDecades, readExpected } from './bullet'

describe('readExpected', () => {
  const f = (text: string | undefined, unit: string, sign?: string, value?: number) =>
    it(`${text} of ${unit}`,
      () => expect(readExpected(text, unit)).toEqual(sign === undefined ? undefined : { sign, value }))
  f('≤ 10', 'rows', '≤', 10)
  f('< 10k', '1/s', '<', 10_000)
  f('< 30', '%', '<', 30)
  f('< 5 % of the statement time', '%', '<', 5)
  f('≤ 1.5 MiB', 'B', '≤', 1.5 * 1024 * 1024)
  f('< 20 ms', 's', '<', 0.02)
  f('< 20 ms', 'ms', '<', 20)
  f('≥ 10 for bulk writes', '', '≥', 10)
  f('≤ 4, twice the CPUs', '', '≤', 4)
  f('0', '', '=', 0)
  f('near 0', '1/s', '=', 0)
  f('ON', '')
  f('a few thousand, and not growing', '')
  f('10x', '')
  f(undefined, '')
})

describe('bullet', () => {
  it('puts value and bound on one scale', () => {
    const b = bullet({ value: 20, unit: 'rows', expected: '≤ 10' })
    expect(b?.log).toBe(false)
    expect((b?.value ?? 0) / (b?.bound ?? 1)).toBeCloseTo(2)
    expect(b?.beyond).toBe(true)
  })
  it('is logarithmic over wide distances, with the order kept', () => {
    const b = bullet({ value: 1_000_000, unit: '1/s', expected: '< 10k' })
    expect(b?.log).toBe(true)
    expect(b?.bound).toBeGreaterThan(0.1)
    expect(b?.value).toBeGreaterThan(b?.bound ?? 1)
    expect(b?.value).toBeLessThanOrEqual(1)
  })
  it('draws a share of hundred without a bound, and nothing for a bare figure', () => {
    expect(bullet({ value: 51, unit: '%' })).toEqual({ value: 0.51, log: false })
    expect(bullet({ value: 51, unit: 'rows' })).toBeUndefined()
    expect(bullet({ unit: 'rows', expected: '≤ 10' })).toBeUndefined()
  })
  it('stands what is within the bound', () => {
    expect(bullet({ value: 3, unit: '%', expected: '< 30' })?.beyond).toBe(false)
    expect(bullet({ value: 0.5, unit: '', expected: '≥ 1' })?.beyond).toBe(true)
    expect(bullet({ value: 0, unit: '', expected: '0' })).toMatchObject({ value: 0, bound: 0, beyond: false })
    expect(bullet({ value: 7, unit: '', expected: '0' })).toMatchObject({ bound: 0, beyond: true })
  })
})

it('decades', () => {
  expect(decadeAbove(110)).toBe(1000)
  expect(decadeAbove(100)).toBe(100)
  expect(decadeAbove(1.2)).toBe(10)
  expect(onDecades(10, 1000)).toBeCloseTo(1 / 3)
  expect(onDecades(0.5, 1000)).toBe(0)
})

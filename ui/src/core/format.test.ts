import { describe, expect, it } from 'vitest'
import { count, digits, figure, ratio, text } from './format'

describe('digits', () => {
  const f = (v: number, want: string) => expect(digits(v)).toBe(want)
  it('has three of them and no exponents', () => {
    f(0, '0')
    f(1, '1.00')
    f(9.994, '9.99')
    f(9.996, '10.0')
    f(99.94, '99.9')
    f(99.96, '100')
    f(123.4, '123')
    f(0.5, '0.5')
    f(0.01234, '0.0123')
    f(0.00000123, '0.00000123')
    f(1e-12, '0')
    f(-2.5, '-2.50')
  })
})

describe('figure', () => {
  const f = (v: number | null | undefined, unit: string, value: string, u: string) =>
    expect(figure(v, unit)).toEqual({ value, unit: u })
  it('scales bytes by 1024', () => {
    f(1234567, 'B/s', '1.18', 'MiB/s')
    f(0, 'B', '0', 'B')
    f(1023, 'B', '1023', 'B')
    f(1024, 'B', '1.00', 'KiB')
    f(1023.9 * 1024, 'B', '1.00', 'MiB')
    f(2 ** 60 * 5, 'B', '5120', 'PiB')
  })
  it('chooses the unit of a time', () => {
    f(0, 's', '0', 's')
    f(0.0000004, 's', '400', 'ns')
    f(0.000123, 's', '123', 'µs')
    f(0.0021, 's', '2.10', 'ms')
    f(0.9996, 's', '1.00', 's')
    f(2.1, 'ms', '2.10', 'ms')
    f(1500, 'ms', '1.50', 's')
    f(250, 'µs', '250', 'µs')
    f(119, 's', '119', 's')
    f(600, 's', '10.0', 'min')
    f(86400, 's', '24.0', 'h')
    f(864000, 's', '10.0', 'd')
  })
  it('scales the others by 1000', () => {
    f(1234.5, '/s', '1.23k', '/s')
    f(999.6, '1/s', '1.00k', '/s')
    f(12, 'rows', '12', 'rows')
    f(2.5e9, 'rows/s', '2.50G', 'rows/s')
    f(0.2, 'cores', '0.2', 'cores')
    f(0.453, 'ratio', '45.3', '%')
    f(45.3, '%', '45.3', '%')
    f(-1500, '', '-1.50k', '')
  })
  it('says nothing of what is not known', () => {
    for (const v of [null, undefined, NaN, Infinity]) f(v, 'B', '–', '')
  })
})

describe('text', () => {
  it('puts the unit behind', () => {
    expect(text(1234567, 'B/s')).toBe('1.18 MiB/s')
    expect(text(0.453, 'ratio')).toBe('45.3%')
    expect(text(1234, '/s')).toBe('1.23k/s')
    expect(text(3, '')).toBe('3')
    expect(text(undefined, 's')).toBe('–')
  })
})

describe('ratio', () => {
  it('has its interval', () => {
    expect(ratio(1.234, 1.1, 1.378)).toBe('×1.23 (1.10–1.38)')
    expect(ratio(0.5)).toBe('×0.50')
    expect(ratio(12.34, null, 13)).toBe('×12.3')
    expect(ratio(1234)).toBe('×1234')
    expect(ratio(null)).toBe('–')
  })
})

describe('count', () => {
  it('groups by three', () => {
    expect(count(1234567)).toBe('1\u202f234\u202f567')
    expect(count(999)).toBe('999')
    expect(count(null)).toBe('–')
  })
})

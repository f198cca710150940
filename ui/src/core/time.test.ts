import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ago, fitting, moment, parseMoment, parseSpan, readRange, span, zone } from './time'

beforeEach(() => {
  vi.useFakeTimers()
  vi.setSystemTime(new Date('2026-11-03T12:00:00Z'))
})
afterEach(() => {
  vi.useRealTimers()
})
const t0 = Date.parse('2026-11-03T12:00:00Z') / 1000

describe('parseSpan', () => {
  const f = (s: string, want: number) => expect(parseSpan(s)).toBe(want)
  it('reads what a URL has', () => {
    f('90s', 90)
    f('-15m', -900)
    f('1h30m', 5400)
    f('now-7d', -604800)
    f('1.5h', 5400)
    for (const bad of ['', '15', 'h', '-1x', '1h ago', '--1h']) f(bad, NaN)
  })
})

it('opens on what there is of a new server', () => {
  expect([10, 299, 300, 1000, 1799, 1800, 3599].map(fitting)).toEqual(['-5m', '-5m', '-15m', '-30m', '-30m', '', ''])
})

describe('parseMoment', () => {
  const f = (s: string, want: number) => expect(parseMoment(s, t0)).toBe(want)
  it('reads relative and absolute ones', () => {
    f('now', t0)
    f('-1h', t0 - 3600)
    f('now-1h', t0 - 3600)
    f('1762171200.5', 1762171200.5)
    f('2026-11-03T12:00:00Z', t0)
    for (const bad of ['', 'yesterday', '-', '12:00', 'NaN', '1e99x']) f(bad, NaN)
  })
})

describe('readRange', () => {
  it('moves when it ends now', () => {
    expect(readRange('-1h', 'now', t0)).toMatchObject(
      { from: t0 - 3600, to: t0, live: true, text: 'last 1 h', key: '-1h/now' })
  })
  it('stands when it does not', () => {
    expect(readRange(String(t0 - 60), String(t0), t0 + 500)).toMatchObject({ from: t0 - 60, to: t0, live: false })
  })
  it('turns round what is the wrong way', () => {
    expect(readRange(String(t0), String(t0 - 60), t0)).toMatchObject({ from: t0 - 60, to: t0 })
  })
  it('is never empty', () => {
    const r = readRange(String(t0), String(t0), t0)
    expect(r.to - r.from).toBe(1)
  })
  it('is the last hour when it cannot be read', () => {
    expect(readRange('rubbish', 'worse', t0)).toMatchObject({ from: t0 - 3600, to: t0, live: true })
    expect(readRange('rubbish', String(t0), t0 + 99)).toMatchObject({ from: t0 - 3600, to: t0, live: false })
  })
})

describe('span and ago', () => {
  it('have at most two units', () => {
    expect(span(0)).toBe('0 s')
    expect(span(0.25)).toBe('250 ms')
    expect(span(59.6)).toBe('1 min')
    expect(span(3600)).toBe('1 h')
    expect(span(3661)).toBe('1 h 1 min')
    expect(span(90061)).toBe('1 d 1 h')
    expect(span(86400 + 60)).toBe('1 d')
    expect(span(-5)).toBe('-5 s')
    expect(span(NaN)).toBe('–')
  })
  it('tell the distance from now', () => {
    expect(ago(t0 - 1)).toBe('just now')
    expect(ago(t0 - 42)).toBe('42 s ago')
    expect(ago(t0 - 3 * 3600)).toBe('3 h ago')
    expect(ago(t0 + 300)).toBe('in 5 min')
    expect(ago(NaN)).toBe('–')
  })
})

describe('moment', () => {
  it('has seconds where there are some, and the year where it is another', () => {
    const local = (s: string) => new Date(s).getTime() / 1000
    expect(moment(local('2026-11-03T09:05:00'))).toBe('09:05')
    expect(moment(local('2026-11-03T09:05:07'))).toBe('09:05:07')
    expect(moment(local('2026-11-03T09:05:07'), { date: true, seconds: false })).toBe('Nov 3 09:05')
    expect(moment(local('2024-02-29T09:05:00'), { date: true })).toBe('2024 Feb 29 09:05')
    expect(moment(NaN)).toBe('–')
  })
})

describe('zone', () => {
  it('names the offset', () => {
    const at = (west: number): string => {
      const spy = vi.spyOn(Date.prototype, 'getTimezoneOffset').mockReturnValue(west)
      const got = zone(0)
      spy.mockRestore()
      return got
    }
    expect([0, -60, -330, 210].map(at)).toEqual(['UTC', 'UTC+1', 'UTC+5:30', 'UTC-3:30'])
  })
})

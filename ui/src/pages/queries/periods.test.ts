import { afterEach, expect, test, vi } from 'vitest'
import { before, halves } from './periods'

test('the halves of what is kept', () => {
  expect(halves(1000, 1600)).toEqual({ before: { from: 1000, to: 1320 }, after: { from: 1320, to: 1600 } })
  expect(halves(1200, 1300)).toBeUndefined() // no minute on either side
})

test('the period before', () => {
  const now = { from: 100_000, to: 103_600 }
  expect(before(now, '', '', '')).toEqual({ from: 96_400, to: 100_000 })
  expect(before(now, 'previous', '', '')).toEqual({ from: 96_400, to: 100_000 })
  expect(before(now, 'day', '', '')).toEqual({ from: 13_600, to: 17_200 })
  expect(before(now, 'hour', '', '')).toEqual({ from: 96_400, to: 100_000 })
  expect(before(now, 'day', '5', '9')).toEqual({ from: 5, to: 9 })
  for (const [p, a, b] of [['soon', '', ''], ['', '9', '5'], ['', 'x', '5'], ['', '5', ''], ['', '-5', '9'],
    ['', '5', '5']] as const) expect(before(now, p, a, b)).toBeUndefined()
})

afterEach(() => {
  vi.unstubAllEnvs()
})

test('yesterday is the same time of the clock, also where clocks were changed', () => {
  vi.stubEnv('TZ', 'Europe/Berlin')
  const at = (t: string) => Date.parse(t) / 1000
  const f = (preset: string, from: string, want: string) => {
    const p = before({ from: at(from), to: at(from) + 3600 }, preset, '', '')
    expect([new Date((p?.from ?? 0) * 1000).toISOString(), (p?.to ?? 0) - (p?.from ?? 0)]).toEqual([want, 3600])
  }
  f('day', '2026-10-25T11:00:00Z', '2026-10-24T10:00:00.000Z') // noon on both days
  f('week', '2026-03-30T10:00:00Z', '2026-03-23T11:00:00.000Z')
  f('day', '2026-07-02T10:00:00Z', '2026-07-01T10:00:00.000Z')
})

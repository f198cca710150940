// Which period another one is compared with.

export const presets = [
  { key: 'previous', name: 'the period just before', short: 'Previous period' },
  { key: 'hour', name: 'an hour earlier', short: 'Previous hour', back: 3600 },
  { key: 'day', name: 'the same time yesterday', short: 'Yesterday', days: 1 },
  { key: 'week', name: 'the same time last week', short: 'Last week', days: 7 },
] as const

export interface Period { from: number; to: number }

/**
 * The period before: a preset by its name, or one of its own given by two moments. Undefined when neither can be read.
 */
export function before(now: Period, preset: string, from: string, to: string): Period | undefined {
  if (from !== '' || to !== '') {
    const a = Number(from)
    const b = Number(to)
    return from !== '' && to !== '' && Number.isFinite(a) && Number.isFinite(b) && b > a && a >= 0 ? { from: a, to: b }
      : undefined
  }
  const width = now.to - now.from
  const p = presets.find((x) => x.key === (preset || 'previous'))
  if (!p) return undefined
  const back = 'days' in p ? now.from - daysBefore(now.from, p.days) : 'back' in p ? p.back : width
  return { from: now.from - back, to: now.to - back }
}

/**
 * The two halves of what is kept, to be compared where nothing is kept of the period before; undefined when there is
 * too little. They meet at a full minute, for which figures are kept.
 */
export function halves(from: number, to: number): { before: Period; after: Period } | undefined {
  const middle = Math.round((from + to) / 2 / 60) * 60
  return middle - from >= 60 && to - middle >= 60
    ? { before: { from: Math.floor(from), to: middle }, after: { from: middle, to: Math.ceil(to) } } : undefined
}

/** The same time of the clock so many days before: a day on which clocks change has another length. */
function daysBefore(t: number, days: number): number {
  const d = new Date(t * 1000)
  d.setDate(d.getDate() - days)
  return d.getTime() / 1000
}

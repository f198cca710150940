// The moment that is shown: how it is written in the URL, and how it moves.

/** The speeds of playing; backwards they are negative. */
export const speeds = [1, 10, 60] as const

/** How often a step is taken at a speed, in ms, and how many seconds it is. */
export function stepOf(speed: number): { every: number; seconds: number } {
  const every = Math.abs(speed) >= 60 ? 250 : Math.abs(speed) >= 10 ? 500 : 1000
  return { every, seconds: (speed * every) / 1000 }
}

/** Reads `at`: unix seconds or RFC 3339. 'live' without it, NaN for what is none. */
export function readAt(s: string): number | 'live' {
  const t = s.trim()
  if (t === '') return 'live'
  if (/^\d{1,11}(\.\d+)?$/.test(t)) return Number(t)
  return /^\d{4}-\d\d-\d\dT/.test(t) ? Date.parse(t) / 1000 : NaN
}

/** Where the moment comes to rest after a move: 'live' when that is now or later. */
export function moved(at: number | 'live', by: number, now: number): number | 'live' {
  const to = Math.floor((at === 'live' || Number.isNaN(at) ? now : at) + by)
  return to >= Math.floor(now) ? 'live' : Math.max(0, to)
}

/** The stretch that the timeline shows: the one asked for, or one as long round the moment when that lies outside. */
export function stretch(from: number, to: number, at: number | 'live'): { from: number; to: number } {
  if (at === 'live' || Number.isNaN(at) || (at >= from && at <= to)) return { from, to }
  const half = Math.round((to - from) / 2)
  return { from: Math.floor(at) - half, to: Math.floor(at) + half }
}

/** The nearest of the kept moments to a place on the timeline; times are in order. Undefined when there is none. */
export function nearest(times: number[], t: number): number | undefined {
  let lo = 0
  let hi = times.length
  while (lo < hi) {
    const mid = (lo + hi) >> 1
    if ((times[mid] ?? 0) < t) lo = mid + 1
    else hi = mid
  }
  const after = times[lo]
  const before = times[lo - 1]
  if (after === undefined) return before
  if (before === undefined) return after
  return t - before <= after - t ? before : after
}

/** Stretches without any kept state, of kept moments in order: where two neighbours are further apart than usual. */
export function gaps(times: number[], from: number, to: number, usual: number): { from: number; to: number }[] {
  const out: { from: number; to: number }[] = []
  let last = from
  for (const t of [...times, to]) {
    if (t - last > usual) out.push({ from: last, to: t })
    last = Math.max(last, t)
  }
  return out
}

/** The kept moments that an error about a missing one names: those nearest before and after. */
export function offered(message: string, at: number): { before?: number; after?: number } {
  const all =
    [...message.matchAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g)].map(
    (m) => Date.parse(m[0]) / 1000).filter((t) => !Number.isNaN(t))
  const others = all.slice(1) // the first is what was asked for
  const before = others.filter((t) => t <= at).pop()
  const after = others.find((t) => t > at)
  return { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }
}

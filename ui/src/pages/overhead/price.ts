// The price of a target, joined with what its sources may take.
import type { Price, Source } from '../../core/openapi.gen'

export interface Row {
  name: string
  about?: string | undefined
  state?: Source | undefined
  server?: number | undefined // seconds a second
  share?: number | undefined // of all sources
  budget?: number | undefined
  mean?: number | undefined
  low?: number | undefined
  high?: number | undefined
  every?: number | undefined
  usual?: number | undefined
  now?: number | undefined // seconds between readings as it is read now
  readings?: number | undefined
  bytes?: number | undefined
  rows?: number | undefined
}

/** One row a source, also those that were not read in the time. */
export function rowsOf(p: Price, sources: Source[]): Row[] {
  const whole = p.server_seconds_per_second
  const priced = p.sources ?? []
  const rows: Row[] = priced.map((x) => {
    const s = sources.find((y) => y.name === x.name)
    const v = x.server_seconds_per_second
    return {
      name: x.name,
      about: s?.about ?? (x.name === 'query_classes' ? 'statements by class, and their plans' : undefined), state: s,
      server: v, share: v !== undefined && whole !== undefined && whole > 0 ? v / whole : undefined,
      budget: s?.budget_seconds_per_second, mean: x.mean_ms, low: x.low_ms, high: x.high_ms,
      every: x.every_seconds > 0 ? x.every_seconds : undefined, usual: s?.usual_seconds, now: s?.every_seconds,
      readings: x.readings > 0 ? x.readings : undefined, bytes: x.bytes_per_second, rows: x.rows_per_second,
    }
  })
  for (const s of sources)
    if (s.cost !== undefined && !rows.some((r) => r.name === s.name))
      rows.push({ name: s.name, about: s.about, state: s, budget: s.budget_seconds_per_second })
  return rows
}

/** How much of its budget a source takes, on average; undefined where either is not known. */
export function useOf(r: Row): number | undefined {
  return r.server === undefined || r.budget === undefined || r.budget <= 0 ? undefined : r.server / r.budget
}

/** How many times less often than usual it is read, 1 at its usual pace. */
export function slowedBy(r: Row): number {
  if (r.now === undefined || r.now <= 0) return 1
  return Math.max(1, Math.round(r.now / Math.max(r.usual ?? 0, 1)))
}

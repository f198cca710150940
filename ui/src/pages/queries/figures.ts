// What is worked out of a class's sums.
import { count } from '../../core/format'
import type { Bucket, ClassFull as ClassDetail, ClassRow as Class, Coverage } from '../../core/openapi.gen'

/** a ÷ b; undefined when one is not known or b is 0. */
export function per(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined || !(b > 0) ? undefined : a / b
}

export interface Row {
  key: string
  c: Class
  share: number | undefined // of the time of all classes
  load: number | undefined // seconds of statement time a second: how many ran at a time
  perSec: number | undefined
  mean: number | undefined // seconds; unknown for sampled classes
  examined: number | undefined // rows a call
  perSent: number | undefined // rows examined for each one sent
  errors: number | undefined // a second
}

/** The figures of a class over what was observed of a window. */
export function rowOf(c: Class, cover: Coverage): Row {
  const sec = cover.observed_seconds > 0 ? cover.observed_seconds : undefined
  return {
    key: `${c.id}/${c.schema ?? ''}/${c.origin}${c.sampled ? '~' : ''}`, c, share: per(c.time_sec, cover.time_sec),
    load: per(c.time_sec, sec), perSec: per(c.count, sec), mean: c.sampled ? undefined : per(c.time_sec, c.count),
    examined: per(c.rows_examined, c.count), perSent: per(c.rows_examined, c.rows_sent), errors: per(c.errors, sec),
  }
}

/** How much of a window was observed, in words; undefined when all but the minute that is still counted was. */
export function covered(asked: number, cover: Coverage, live: boolean): { text: string; little: boolean } | undefined {
  const seen = cover.observed_seconds
  const spare = live ? 125 : 65
  if (seen >= asked - spare) return undefined
  const unit = asked >= 2 * 86400 ? 86400 : asked >= 3 * 3600 ? 3600 : 60
  const name = unit === 86400 ? 'd' : unit === 3600 ? 'h' : 'min'
  const digits =
    (x: number) => (x / unit >= 10 || Number.isInteger(x / unit) ? String(Math.round(x / unit)) : (x / unit).toFixed(1))
  return { text: `data covers ${digits(seen)} of ${digits(asked)} ${name}`, little: seen < asked / 2 }
}

/**
 * The longest execution that is known of a window: where not all of its parts report one, the longest of those that do.
 */
export function longestOf(v: ClassDetail): number | undefined {
  return v.class.max_sec ?? v.buckets.reduce<number | undefined>(
    (a, b) => (b.class.max_sec === undefined ? a : Math.max(a ?? 0, b.class.max_sec)), undefined)
}

interface Course {
  x: number[]
  load: (number | null)[]
  perSec: (number | null)[]
  mean: (number | null)[]
  max: (number | null)[]
}

/** The course of a class: a point for each bucket, nulls where nothing was observed for longer than a bucket. */
export function courseOf(buckets: Bucket[]): Course {
  const out: Course = { x: [], load: [], perSec: [], mean: [], max: [] }
  const put = (x: number, load: number | null, perSec: number | null, mean: number | null, max: number | null) => {
    out.x.push(x)
    out.load.push(load)
    out.perSec.push(perSec)
    out.mean.push(mean)
    out.max.push(max)
  }
  let last: number | undefined
  for (const b of buckets) {
    const from = Date.parse(b.from) / 1000
    const to = Date.parse(b.to) / 1000
    if (!(to > from)) continue
    if (last !== undefined && from - last > (to - from) * 0.5) put((last + from) / 2, null, null, null, null)
    const c = b.class
    put((from + to) / 2, c.time_sec / (to - from), c.count / (to - from), c.count > 0 && !c.sampled
      ? c.time_sec / c.count : null, c.max_sec ?? null)
    last = to
  }
  return out
}

export interface Bin {
  from: number // seconds
  to: number
  calls: number
  minutes: number
}

/**
 * How the mean times of the buckets spread, weighted by calls: bins of a third of a power of ten from the quickest to
 * the slowest. It is not the spread of single statements, which is wider.
 */
export function spread(buckets: Bucket[]): Bin[] {
  const means =
    buckets.map(
    (b) =>
    ({ mean: b.class.count > 0 && !b.class.sampled ? b.class.time_sec / b.class.count : NaN, calls: b.class.count }))
    .filter((m) => m.mean > 0)
  if (means.length === 0) return []
  const steps = 6 // a power of ten
  const place = (v: number) => Math.floor(Math.log10(v) * steps + 1e-9)
  const at = means.map((m) => place(m.mean))
  const lo = Math.min(...at)
  const hi = Math.max(...at)
  const bins: Bin[] = []
  for (let i = lo; i <= hi &&
    bins.length < 80; i++) bins.push({ from: 10 ** (i / steps), to: 10 ** ((i + 1) / steps), calls: 0, minutes: 0 })
  means.forEach((m, i) => {
    const b = bins[(at[i] ?? lo) - lo]
    if (b) {
      b.calls += m.calls
      b.minutes++
    }
  })
  return bins
}

/** Whether every word that was typed is in one of the texts. */
export function hasWords(typed: string, ...texts: (string | undefined)[]): boolean {
  const hay = texts.join('\n').toLowerCase()
  return typed.toLowerCase().split(/\s+/).every((w) => hay.includes(w))
}

/** Rows that have every word that was typed, in their statement, id or schema. */
export function find(rows: Row[], typed: string): Row[] {
  return typed.trim() === '' ? rows : rows.filter((r) => hasWords(typed, r.c.id, r.c.schema, r.c.fingerprint))
}

/**
 * How many classes are shown, of how many. loaded are those with most time; where they are not all, hits is what the
 * server found among all of them, once it has.
 */
export function howMany(shown: number, loaded: number, total: number, typed: string,
  hits?: { value?: { found?: number } | undefined; error?: unknown }): string {
  const all = total > loaded ? `the top ${loaded} of ${count(total)} classes by time`
    : `${total} ${total === 1 ? 'class' : 'classes'}`
  if (typed.trim() === '') return all
  if (!hits) return `${shown} of ${all}`
  if (!hits.value) return `${shown} of ${all}; the others ${hits.error ? 'were not searched' : 'are being searched'}`
  const found = hits.value.found ?? shown
  return found > shown ? `the top ${shown} by time of ${count(found)} matches, of ${count(total)} classes`
    : `${found} of ${count(total)} classes`
}

/**
 * A window that ends now, held to whole buckets: it moves when one is over and not each second. The newest is in it.
 */
export function whole(buckets: Bucket[], from: number, to: number): [number, number] {
  const b = buckets[buckets.length - 1]
  const end = b ? Date.parse(b.to) / 1000 : NaN
  const step = b ? end - Date.parse(b.from) / 1000 : 0
  return step >= 1 ? [Math.floor(from / step) * step, Math.max(end, Math.floor(to / step) * step)] : [from, to]
}

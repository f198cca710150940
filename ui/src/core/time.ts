// Moments and ranges of time, as they stand in the URL and as people read them.
import { useCallback, useMemo } from 'preact/hooks'
import { now, second } from './clock'
import { signal } from './signal'
import { route, setParams } from './url'

export { now } from './clock'

export interface Range {
  from: number // unix seconds
  to: number
  live: boolean // to is "now" and moves
  text: string // "last 1 h", "Nov 3, 12:00 – 13:00"
  key: string // the same as long as the URL says the same: what a live range is known by while it moves
}

const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 }

/** Reads "-1h30m", "90s", "7d", "now-1h" as seconds; NaN when it is none. */
export function parseSpan(s: string): number {
  const m = /^(?:now)?(-)?((?:\d+(?:\.\d+)?[smhdw])+)$/.exec(s.trim())
  if (!m?.[2]) return NaN
  let sum = 0
  for (const x of m[2].matchAll(/(\d+(?:\.\d+)?)([smhdw])/g)) sum += Number(x[1]) * (units[x[2] ?? ''] ?? NaN)
  return m[1] ? -sum : sum
}

/** Reads a moment as the URL has it, "now", "-1h", unix seconds, or RFC 3339, as unix seconds; NaN when it is none. */
export function parseMoment(s: string, at: number): number {
  const t = s.trim()
  if (t === 'now') return at
  if (/^(now)?-/.test(t)) return at + parseSpan(t)
  if (/^\d+(\.\d+)?$/.test(t)) return Number(t)
  return /^\d{4}-\d\d-\d\d/.test(t) ? Date.parse(t) / 1000 : NaN
}

/** Writes a span of seconds in its two biggest units: "1 h 30 min". */
export function span(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–'
  if (seconds < 0) return '-' + span(-seconds)
  if (seconds > 0 && seconds < 1) return `${Math.round(seconds * 1000)} ms`
  let left = Math.round(seconds)
  const out: string[] = []
  for (const [n, u] of [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']] as const) {
    const k = Math.floor(left / n)
    left -= k * n
    if (k > 0) out.push(`${k} ${u}`)
    if (out.length === 2 || (out.length === 1 && k === 0)) break
  }
  return out.length === 0 ? '0 s' : out.join(' ')
}

/**
 * Works a range out. What cannot be read is the hour that ends now; a range that ends before it begins is turned round.
 */
export function readRange(from: string, to: string, at: number): Range {
  let a = parseMoment(from, at)
  let b = parseMoment(to, at)
  if (Number.isNaN(b)) [b, to] = [at, 'now']
  if (Number.isNaN(a)) [a, from] = [b - 3600, to === 'now' ? '-1h' : String(b - 3600)]
  if (a > b) [a, b] = [b, a]
  if (b - a < 1) a = b - 1
  const live = to === 'now'
  const relative = /^(now)?-/.test(from)
  const text = live && relative ? 'last ' + span(b - a)
    : `${moment(a, { date: true })} – ${live ? 'now' : moment(b, { date: !sameDay(a, b) })}`
  return { from: a, to: b, live, text, key: `${from}/${to}` }
}

const fits = signal<ReadonlyMap<string, string>>(new Map())

/**
 * The span of at most an hour that shows what there is of a server that has been watched for so many seconds; '' for an
 * hour.
 */
export function fitting(watched: number): string {
  return watched < 300 ? '-5m' : watched < 900 ? '-15m' : watched < 1800 ? '-30m' : ''
}

/**
 * Lets the range that a page opens with be what is kept of a target, for one that has been watched for less than an
 * hour.
 */
export function fitRange(target: string, oldest: number | undefined): void {
  const fit = oldest === undefined ? '' : fitting(now() - oldest)
  if ((fits.value.get(target) ?? '') !== fit) fits.value = new Map([...fits.value, [target, fit]])
}

/**
 * What the range of a target's page begins with when the URL does not say: usual, or less for a server watched for
 * less.
 */
export function opening(target: string, usual = '-1h'): string {
  const fit = fits.value.get(target) ?? ''
  return fit && Math.abs(parseSpan(fit)) < Math.abs(parseSpan(usual)) ? fit : usual
}

/**
 * The range of the URL; none is what it is without one, as a span back from now. Setting writes it as the URL has it.
 */
export function useRange(usual = '-1h'): [Range, (from: string, to: string) => void] {
  const none = opening(route.value.params.get('target') ?? '', usual)
  const from = route.value.params.get('from') ?? none
  const to = route.value.params.get('to') ?? 'now'
  // The clock moves a live range by steps that can be seen: by the second up to an hour, else by a thousandth or so.
  const moving = to === 'now' || to.startsWith('-') || from.startsWith('-')
  const long = Math.abs(parseSpan(from))
  const step = !(long > 3600) ? 1 : long <= 6 * 3600 ? 5 : 30
  const at = moving ? Math.floor(second.value / step) * step : 0
  const range = useMemo(() => readRange(from, to, at || now()), [from, to, at])
  const set = useCallback((f: string, t: string) =>
    setParams({ from: f === none && t === 'now' ? null : f, to: t === 'now' ? null : t }), [none])
  return [range, set]
}

function sameDay(a: number, b: number): boolean {
  return new Date(a * 1000).toDateString() === new Date(b * 1000).toDateString()
}

const two = (n: number) => String(n).padStart(2, '0')
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A moment in the browser's time zone: "12:03:07", with date "Nov 3 12:03:07" and the year when it is not this one. */
export function moment(t: number, o: { seconds?: boolean; date?: boolean } = {}): string {
  const d = new Date(t * 1000)
  if (Number.isNaN(d.getTime())) return '–'
  const seconds = o.seconds ?? t % 60 !== 0
  const clock = two(d.getHours()) + ':' + two(d.getMinutes()) + (seconds ? ':' + two(d.getSeconds()) : '')
  if (!o.date) return clock
  const year = d.getFullYear() === new Date().getFullYear() ? '' : `${d.getFullYear()} `
  return `${year}${months[d.getMonth()] ?? ''} ${d.getDate()} ${clock}`
}

/** The time zone of all times of the UI at a moment: "UTC", "UTC+1", "UTC-3:30". */
export function zone(t: number): string {
  const east = -new Date(t * 1000).getTimezoneOffset()
  const m = Math.abs(east) % 60
  return east === 0 ? 'UTC'
    : `UTC${east < 0 ? '-' : '+'}${Math.floor(Math.abs(east) / 60)}${m === 0 ? '' : ':' + two(m)}`
}

/** How long ago: "just now", "42 s ago", "3 h ago"; what is to come is "in 5 min". */
export function ago(t: number): string {
  const d = now() - t
  if (!Number.isFinite(d)) return '–'
  if (Math.abs(d) < 2) return 'just now'
  const s = Math.abs(d)
  const text = s < 120 ? `${Math.round(s)} s`
    : s < 7200 ? `${Math.round(s / 60)} min` : s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} d`
  return d < 0 ? 'in ' + text : text + ' ago'
}

/** Reads RFC 3339 as unix seconds; NaN for none. */
export function seconds(t: string | null | undefined): number {
  return t ? Date.parse(t) / 1000 : NaN
}

// Figures and axes of the lab's tables and pictures: pure arithmetic.
import { text } from '../../core/format'

/** A trial's value as it stands below a head with its unit, with four digits that matter. */
export function figureOf(v: number | undefined, unit?: string): string {
  if (v === undefined || !Number.isFinite(v)) return '–'
  if (unit === 'B' || unit === 'B/s') return text(v, 'B')
  const x = unit === 'share' ? v * 100 : v // their heads say %
  const a = Math.abs(x)
  if (a >= 99_999.5)
    return a >= 1e9 ? (x / 1e9).toPrecision(4) + 'G'
    : a >= 1e6 ? (x / 1e6).toPrecision(4) + 'M' : (x / 1e3).toPrecision(4) + 'k'
  if (a >= 999.5 || Number.isInteger(x)) return String(Math.round(x))
  return x.toPrecision(a >= 100 ? 4 : 3)
}

export interface Axis { lo: number; hi: number; log: boolean; ticks: number[] }

function nice(step: number): number {
  const p = 10 ** Math.floor(Math.log10(step))
  const m = step / p
  return (m <= 1 ? 1 : m <= 2 ? 2 : m <= 2.5 ? 2.5 : m <= 5 ? 5 : 10) * p
}

/** An axis from zero that holds the values. */
export function fromZero(values: readonly number[], most = 5): Axis {
  const top = values.reduce((a, b) => (Number.isFinite(b) ? Math.max(a, b) : a), 0)
  if (!(top > 0)) return { lo: 0, hi: 1, log: false, ticks: [0, 1] }
  const step = nice(top / most)
  const hi = Math.ceil(top / step - 1e-9) * step
  return { lo: 0, hi, log: false, ticks: steps(0, hi, step) }
}

function steps(lo: number, hi: number, step: number): number[] {
  const out: number[] = []
  for (let i = 0; lo + i * step <= hi + step * 1e-6 && i < 100; i++) out.push(Number((lo + i * step).toPrecision(12)))
  return out
}

/** An axis of ratios: 1 is on it, and where they span more than a factor of six it is logarithmic. */
export function ofRatios(values: readonly number[]): Axis {
  const known = [...values.filter((v) => v > 0 && v < 1e12), 1]
  const lo = Math.max(1e-6, Math.min(...known))
  const hi = Math.min(1e6, Math.max(...known))
  if (hi / lo > 6) {
    const a = Math.floor(Math.log10(lo) + 1e-9)
    const b = Math.ceil(Math.log10(hi) - 1e-9)
    const fine = b - a <= 2 ? [1, 2, 5] : [1]
    const every = Math.max(1, Math.ceil((b - a) / 6))
    const ticks: number[] = []
    for (let e = a; e <= b; e++) for (const m of fine)
      if (e % every === 0 || fine.length > 1) ticks.push(Number((m * 10 ** e).toPrecision(3)))
    const from = Math.max(10 ** a, [...ticks].reverse().find((t) => t <= lo * 1.0001) ?? 10 ** a)
    const to = Math.min(10 ** b, ticks.find((t) => t >= hi * 0.9999) ?? 10 ** b)
    return { lo: from, hi: Math.max(to, from * 2), log: true,
      ticks: ticks.filter((t) => t >= from * 0.999 && t <= to * 1.001) }
  }
  const step = nice(Math.max(hi - lo, 0.02) / 5)
  const from = Math.max(0, Math.floor(lo / step + 1e-9) * step)
  const to = Math.ceil(hi / step - 1e-9) * step
  return { lo: from, hi: to > from ? to : from + step, log: false, ticks: steps(from, to, step) }
}

/** Where a value is on an axis, 0 to 1, held to its ends. */
export function place(a: Axis, v: number): number {
  const f = a.log ? (Math.log(Math.max(v, 1e-300)) - Math.log(a.lo)) / (Math.log(a.hi) - Math.log(a.lo))
    : (v - a.lo) / (a.hi - a.lo)
  return Math.min(1, Math.max(0, Number.isFinite(f) ? f : 0))
}

/** Where numbers are on a shared axis, 0 to 1; by their logarithms when equal distances should be equal factors. */
export function spread(xs: readonly number[], log: boolean): number[] {
  const t = (v: number) => (log ? Math.log(v) : v)
  const a = t(xs[0] ?? 0)
  const b = t(xs[xs.length - 1] ?? 1)
  return xs.map((v) => (b > a ? (t(v) - a) / (b - a) : 0.5))
}

/** A ratio for the end of a tick: "×0.5", "÷20". */
export function ratioTick(v: number, a: Axis): string {
  if (a.log && v < 1) return '÷' + short(1 / v)
  if (a.log) return '×' + short(v)
  const step = (a.ticks[1] ?? 1) - (a.ticks[0] ?? 0)
  return '×' + v.toFixed(step >= 1 ? 0 : Math.min(4, Math.max(1, Math.ceil(-Math.log10(step) - 1e-9))))
}

function short(v: number): string {
  const r = Number(v.toPrecision(3))
  return r >= 1e6 ? r / 1e6 + 'M' : r >= 1e4 ? r / 1e3 + 'k' : String(r)
}

/** A number of a tick: 1500 is "1500", 0.25 "0.25", 2500000 "2.5M". */
export function tick(v: number): string {
  const a = Math.abs(v)
  if (a >= 1e6) return Number((v / 1e6).toPrecision(4)) + 'M'
  if (a >= 1e4) return Number((v / 1e3).toPrecision(4)) + 'k'
  return String(Number(v.toPrecision(6)))
}

/** One step of a ladder: the factor over everything before it, and over the step before. */
export interface Step {
  name: string
  sign: string
  word: string
  total: number | null // to the first
  lo: number | null
  hi: number | null
  step: number | null // to the one before
}

/** The steps of levels that are all compared with the first of them; null when they are not that. */
export function ladder(
  cells: readonly { name: string; first: boolean; toFirst: boolean; sign: string; word: string
    of: { center: number; lo: number; hi: number } | null }[]): Step[] | null {
  if (cells.length < 3 || !cells[0]?.first || cells.slice(1).some((c) => !c.toFirst)) return null
  let before: number | null = 1
  return cells.map((c, i) => {
    if (i === 0) return { name: c.name, sign: '', word: 'baseline', total: 1, lo: null, hi: null, step: null }
    const total = c.of?.center ?? null
    const step = total !== null && before !== null && before > 0 ? total / before : null
    before = total
    return { name: c.name, sign: c.sign, word: c.word, total, lo: c.of?.lo ?? null, hi: c.of?.hi ?? null, step }
  })
}

/** Heads of several levels: neighbours that are equal so far share one. */
export function nest(heads: readonly (readonly string[])[],
  level: number): { text: string; span: number; at: number }[] {
  const out: { text: string; span: number; at: number }[] = []
  heads.forEach((h, i) => {
    const before = heads[i - 1]
    const last = out[out.length - 1]
    if (last && before && same(before, h, level)) last.span++
    else out.push({ text: h[level] ?? '', span: 1, at: i })
  })
  return out
}

function same(a: readonly string[], b: readonly string[], level: number): boolean {
  for (let k = 0; k <= level; k++) if (a[k] !== b[k]) return false
  return true
}

/** How many rows a label reaches down from here; 0 when it reaches down from above. */
export function reaches(rows: readonly (readonly string[])[], i: number, level: number): number {
  const row = rows[i]
  if (!row) return 0
  if (level === row.length - 1) return 1
  const above = rows[i - 1]
  if (above && same(above, row, level)) return 0
  let n = 1
  for (let below = rows[i + n]; below && same(row, below, level); below = rows[i + n]) n++
  return n
}

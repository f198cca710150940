// Pure arithmetic of graphs: stacks, scales, summaries, and the joining of what came later.
import { digits, text } from '../core/format'
import type { Graph as Panel, HttpapiLine as Line } from '../core/openapi.gen'
import type { Answer } from '../core/api'
import type { PlotLine } from './types'

/** The data of graphs. Point i is of the time from from+i*step on. */
export type Graphs = Answer<'graphs'>

type Values = (number | null)[]

/** The middles of the steps. */
export function middles(from: number, step: number, n: number): number[] {
  return Array.from({ length: n }, (_, i) => from + (i + 0.5) * step)
}

/** Sums from the first line on. Where a line that is known elsewhere is not known, the stack is not known. */
export function stack(lines: Values[]): Values[] {
  const out: Values[] = []
  let below: Values | undefined
  for (const l of lines) {
    const base = below
    below = l.map((v, i) => {
      const b = base === undefined ? 0 : (base[i] ?? null)
      return v === null || b === null ? null : b + Math.max(0, v)
    })
    out.push(below)
  }
  const top = out[out.length - 1]
  if (!top) return out
  return out.map((l) => l.map((v, i) => (top[i] === null ? null : v)))
}

/** The greatest value; NaN when there is none. */
export function most(vs: Values): number {
  let m = NaN
  for (const v of vs) if (v !== null && !(v <= m)) m = v
  return m
}

/** The least value; NaN when there is none. */
export function least(vs: Values): number {
  let m = NaN
  for (const v of vs) if (v !== null && !(v >= m)) m = v
  return m
}

/** The mean of what is known; null for nothing. */
export function mean(vs: Values): number | null {
  let sum = 0
  let n = 0
  for (const v of vs)
    if (v !== null) {
      sum += v
      n++
    }
  return n === 0 ? null : sum / n
}

/** The newest value that is known, null for none. */
export function last(vs: Values): number | null {
  for (let i = vs.length - 1; i >= 0; i--) {
    const v = vs[i]
    if (v !== null && v !== undefined) return v
  }
  return null
}

/** Whether a limit is near enough to the others to be worth the room that drawing it takes. */
export function limitMatters(limit: Values, others: Values[]): boolean {
  const l = most(limit)
  return others.some((o) => most(o) >= l * 0.4)
}

const binarySteps = (() => {
  const out: number[] = []
  for (let p = -10; p < 50; p++) out.push(2 ** p)
  return out
})()
const timeSteps = [1e-9, 2e-9, 5e-9, 1e-8, 2e-8, 5e-8, 1e-7, 2e-7, 5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4,
  5e-4, 1e-3, 2e-3, 5e-3,
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400,
    172800, 432000, 864000]
const decimalSteps = (() => {
  const out: number[] = []
  for (let p = -12; p < 16; p++) for (const m of [1, 2, 5]) out.push(Number(`${m}e${p}`))
  return out
})()

/** The distances that ticks of a unit may have. */
export function tickSteps(unit: string): number[] {
  if (unit === 'B' || unit === 'B/s') return binarySteps
  return unit === 's' ? timeSteps : decimalSteps
}

/** The multiples of a step from from to to, a thousand at most. */
export function ticksAt(from: number, to: number, step: number): number[] {
  const out: number[] = []
  // A multiple of 0.1 is seldom exact: what is beside an end by less than a billionth of a step is on it.
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9 &&
    out.length < 1000; k++) out.push(Number((k * step).toPrecision(12)))
  return out
}

/**
 * The moments from from to to that are multiples of a step on the browser's clock, also where that is put back or on in
 * between.
 */
export function timeTicksAt(from: number, to: number, step: number): number[] {
  const ahead = (t: number) => -60 * new Date(t * 1000).getTimezoneOffset()
  const spare = step < 3600 ? 0 : 7200 // by how much a clock may be put on or back
  return ticksAt(from + ahead(from) - spare, to + ahead(from) + spare, step)
    .map((clock) => clock - ahead(clock - ahead(from)))
    .filter((t, i, all) => t >= from && t <= to && t !== all[i - 1])
}

/** A tick's text; unit names that are words are left to the title. */
export function tick(v: number, unit: string): string {
  if (v === 0) return '0'
  if (unit === 'B' || unit === 'B/s' || unit === 's' || unit === 'ratio' || unit === '%') return text(v, unit)
  if (Math.abs(v) < 0.001) return digits(v)
  const f = text(v, '').replace(/(\.\d*?)0+(?=[kMGTP]?$)/, '$1').replace(/\.(?=[kMGTP]?$)/, '')
  return unit === '/s' || unit === 'rows/s' ? f + '/s' : f
}

/** The top of the scale for a greatest value. */
export function top(max: number): number {
  return max > 0 ? max * 1.06 : 1
}

/** Panels of which something can be drawn, and those of which nothing is known. */
export function sortOut(panels: Panel[]): { shown: Panel[]; unknown: Panel[] } {
  const dark = (p: Panel) => p.lines.every((l) => l.unknown !== undefined || l.limit === true)
  return { shown: panels.filter((p) => !dark(p)), unknown: panels.filter(dark) }
}

/** The lines of a panel that are known, as a Plot draws them. Bands are left out of a picture that they would fill. */
export function plotLines(p: Panel): PlotLine[] {
  const known = p.lines.filter((l) => l.unknown === undefined)
  const bands = !p.stacked && known.filter((l) => l.limit !== true).length <= 4
  return known.map((l) => ({
    name: l.name, y: l.mean, band: bands && l.min && l.max ? [l.min, l.max] : undefined,
    colour: (p.lines.indexOf(l) % 8) + 1, limit: l.limit, rest: l.rest,
  }))
}

/** What a picture shows, in words. */
export function describe(title: string, unit: string, lines: PlotLine[]): string {
  const parts = lines.filter((l) => l.quiet !== true)
    .map((l) => {
      const now = last(l.y)
      if (now === null) return `${l.name}: unknown`
      return `${l.name}: ${text(now, l.unit ?? unit)} last, min ${text(least(l.y), l.unit ?? unit)}, max ` +
        `${text(most(l.y), l.unit ?? unit)}`
    })
  return `${title}. ${parts.join('; ')}.`
}

/** Puts what came later behind what is there, and lets go of what is before from. Both must have the same step. */
export function join(old: Graphs, more: Graphs, from: number): Graphs {
  if (old.step !== more.step || more.from > old.to) return more
  const begin = Math.max(old.from, Math.floor(from / old.step) * old.step)
  const keep = Math.max(0, Math.round((more.from - begin) / old.step)) // steps of the old that stay
  const skip = Math.round((begin - old.from) / old.step)
  const panels = more.panels.map((p) => {
    const before = old.panels.find((o) => o.id === p.id)
    const n = keep + Math.round((more.to - more.from) / more.step)
    return { ...p, lines: p.lines.map((l) => joinLine(before?.lines.find((o) => o.name === l.name), l, skip, keep, n)) }
  })
  return { ...more, from: begin, panels }
}

function joinLine(a: Line | undefined, b: Line, skip: number, keep: number, n: number): Line {
  if (b.unknown !== undefined && (a === undefined || a.unknown !== undefined)) return b
  const take = (x: Values | undefined, y: Values | undefined): Values => {
    const out: Values = new Array<number | null>(n).fill(null)
    if (x) for (let i = 0; i < keep; i++) out[i] = x[skip + i] ?? null
    if (y) for (let i = 0; i < y.length && keep + i < n; i++) out[keep + i] = y[i] ?? null
    return out
  }
  const l: Line = { ...b, mean: take(a?.mean, b.mean) }
  delete l.unknown
  if (b.unknown !== undefined && last(l.mean) === null) l.unknown = b.unknown
  // Where only one of the two has a range, the other's is its mean.
  if (a?.min || b.min) {
    l.min = take(a?.min ?? a?.mean, b.min ?? b.mean)
    l.max = take(a?.max ?? a?.mean, b.max ?? b.mean)
  }
  if (a?.compare || b.compare) l.compare = take(a?.compare, b.compare)
  return l
}

/** Text of a tick of time. step is the distance of ticks in seconds. */
export function timeTick(t: number, step: number, first: boolean): string {
  const d = new Date(t * 1000)
  const two = (n: number) => String(n).padStart(2, '0')
  const day =
    `${['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'][d.getMonth()] ?? ''} ` +
      `${d.getDate()}`
  const midnight = d.getHours() === 0 && d.getMinutes() === 0 && d.getSeconds() === 0
  if (step >= 86400 || (midnight && step >= 3600) || (first && midnight)) return day
  const clock = `${two(d.getHours())}:${two(d.getMinutes())}`
  return step < 60 ? `${clock}:${two(d.getSeconds())}` : clock
}

// Pure builders: from lines to what uPlot draws.
import type uPlot from 'uplot'
import { least, limitMatters, most, stack, tick, tickSteps, ticksAt, timeTick, timeTicksAt, top } from './figures'
import type { PlotLine } from './types'

export interface Picture {
  x: number[] // unix seconds
  from: number
  to: number
  unit: string
  stacked: boolean
  lines: PlotLine[]
}

/** What the colours of a theme are called in the canvas. */
export interface Colours {
  lines: string[] // c1…c8
  text: string
  grid: string
  surface: string
  rest: string
  warn: string
  font: string
}

/** One drawn course: of which line it is, and in which part. */
interface Course { line: number; part: 'mean' | 'low' | 'high' | 'compare'; y: (number | null)[] }

/** A picture worked out: what to draw, in drawing order, and between what it lies. */
export interface Drawn { picture: Picture; courses: Course[]; min: number; max: number }

/** Works a picture out. */
export function draw(p: Picture): Drawn {
  const out: Course[] = []
  const plain = p.lines.map((l, i) => ({ l, i })).filter(({ l }) => l.limit !== true && l.dash !== true)
  if (p.stacked) {
    const sums = stack(plain.map(({ l }) => l.y))
    for (let k = sums.length - 1; k >= 0; k--) out.push({ line: plain[k]?.i ?? 0, part: 'mean', y: sums[k] ?? [] })
  } else {
    for (const { l, i } of plain) if (l.band)
      out.push({ line: i, part: 'high', y: l.band[1] }, { line: i, part: 'low', y: l.band[0] })
    for (const { l, i } of plain) out.push({ line: i, part: 'mean', y: l.y })
  }
  p.lines.forEach((l, i) => {
    if (l.dash === true) out.push({ line: i, part: 'compare', y: l.y })
    if (l.limit === true && limitMatters(l.y, plain.map((o) => o.l.y))) out.push({ line: i, part: 'mean', y: l.y })
  })
  let max = NaN
  let min = 0
  for (const c of out) {
    const m = most(c.y)
    if (!(m <= max)) max = m
    const l = least(c.y)
    if (l < min) min = l
  }
  return { picture: p, courses: out, min, max }
}

/** What a plot must be rebuilt for; as long as it is the same, only the figures change. */
export function shape({ picture: p, courses }: Drawn): string {
  return JSON.stringify([p.unit, p.stacked, courses.map((c) => [c.line, c.part, p.lines[c.line]?.colour])])
}

/** The figures, as uPlot takes them. */
export function data({ picture, courses }: Drawn): uPlot.AlignedData {
  return [picture.x, ...courses.map((c) => c.y)]
}

/** The colour of a line, 1…8 in turn where it has none of its own. */
export function hue(l: PlotLine | undefined, i: number): number {
  return ((l?.colour ?? i + 1) - 1) % 8
}

/** '#0b62c4' and 0.2 to a colour of that opacity. */
export function alpha(colour: string, a: number): string {
  const m = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour.trim())
  if (!m) return colour
  const [r, g, b] = m.slice(1).map((h) => parseInt(h, 16))
  return `rgba(${r}, ${g}, ${b}, ${a})`
}

/** The axis' width for its longest text. */
function axisWidth(ticks: string[] | null): number {
  return Math.max(58, ...(ticks ?? []).map((s) => 14 + 6.4 * s.length))
}

/** Series, bands, scales and axes of a plot. now() gives the picture as it is at that moment, which scales follow. */
export function build(now: () => Drawn, c: Colours): Pick<uPlot.Options, 'series' | 'bands' | 'scales' | 'axes'> {
  const { picture: p, courses: list } = now()
  const series: uPlot.Series[] = [{}]
  const bands: uPlot.Band[] = []
  list.forEach((x, k) => {
    const l = p.lines[x.line]
    const colour = c.lines[hue(l, x.line)] ?? c.text
    const s: uPlot.Series = { stroke: colour, width: 1.25, spanGaps: false,
      points: { show: true, filter: lonely, size: 3 } }
    if (x.part === 'low' || x.part === 'high') {
      s.stroke = 'transparent'
      s.width = 0
      s.points = { show: false }
      if (x.part === 'high') bands.push({ series: [k + 1, k + 2], fill: alpha(colour, 0.16) })
    } else if (x.part === 'compare') {
      s.dash = [3, 3]
      s.stroke = alpha(colour, 0.85)
      s.width = 1
    } else if (l?.limit === true) {
      s.dash = [8, 4]
      s.stroke = c.text
      s.width = 1
    } else if (p.stacked) {
      s.width = 0.75
      s.stroke = l?.rest === true ? c.grid : colour
      s.points = { show: false }
      const fill = l?.rest === true ? c.rest : alpha(colour, 0.62)
      // The lowest area reaches down to nothing, the others to the one below.
      const below = list[k + 1]
      if (below && below.part === 'mean' && p.lines[below.line]?.limit !== true)
        bands.push({ series: [k + 1, k + 2], fill })
      else s.fill = fill
    }
    series.push(s)
  })
  return {
    series, bands,
    scales: {
      x: { range: () => [now().picture.from, now().picture.to] },
      y: { range: () => [now().min, top(now().max)] },
    },
    axes: [
      {
        stroke: c.text, font: c.font, size: 24, gap: 4, space: 58,
        incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
          604800, 1209600, 2419200],
        splits: (_u, _axis, from, to, step) => timeTicksAt(from, to, step), grid: { stroke: c.grid, width: 1 },
        ticks: { show: false }, values: (_u, at, _axis, _space, step) => at.map((t, i) => timeTick(t, step, i === 0)),
      },
      {
        stroke: c.text, font: c.font, size: (_u, ticks) => axisWidth(ticks), gap: 6, space: 28,
        incrs: tickSteps(p.unit), splits: (_u, _axis, from, to, step) => ticksAt(from, to, step),
        grid: { stroke: c.grid, width: 1 }, ticks: { show: false }, values: (_u, at) => at.map((v) => tick(v, p.unit)),
      },
    ],
  }
}

/** Points are shown where nothing joins them to a line. */
function lonely(u: uPlot, k: number): number[] {
  const y = u.data[k]
  const out: number[] = []
  if (y) for (let i = 0; i < y.length; i++) if (y[i] != null && y[i - 1] == null && y[i + 1] == null) out.push(i)
  return out
}

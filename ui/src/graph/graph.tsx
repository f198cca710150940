// A graph of a server: a panel as GET graphs gives it.
import { useMemo } from 'preact/hooks'
import { middles, plotLines } from './figures'
import { Plot } from './plot'
import type { Graph as Panel } from '../core/openapi.gen'
import type { Mark, PlotLine } from './types'

export interface GraphProps {
  panel: Panel
  /** Of the first point, and the distance of points; unix seconds. */
  from: number
  step: number
  /** What the axis of time shows. */
  range: { from: number; to: number }
  events?: Mark[]
  sync?: string
  height?: number
  /** How the time that lines are compared with is called. */
  compare?: string | undefined
  table?: boolean
  onZoom?: ((from: number, to: number) => void) | undefined
  onBack?: (() => void) | undefined
  onPick?: ((t: number) => void) | undefined
}

/** The lines of a panel, with those of the time before; of a stack its height then. */
export function linesOf(panel: Panel, compare?: string): PlotLine[] {
  const lines = plotLines(panel)
  if (compare === undefined) return lines
  const known = panel.lines.filter((l) => l.unknown === undefined && l.limit !== true && l.compare !== undefined)
  if (known.length === 0) return lines
  if (!panel.stacked)
    return [...lines,
    ...known.map(
    (l) =>
    ({ name: `${l.name}, ${compare}`, y: l.compare ?? [], dash: true, colour: (panel.lines.indexOf(l) % 8) + 1,
    quiet: known.length > 2 }))]
  const part = panel.lines.filter((l) => l.unknown === undefined && l.limit !== true && l.rest !== true)
  // Where one of them is not known, neither is the sum.
  const sum = (known[0]?.compare ?? []).map((_, i) => part.reduce<number | null>((a, l) => {
    const v = l.compare?.[i] ?? null
    return a === null || v === null ? null : a + v
  }, 0))
  return [...lines, { name: `sum, ${compare}`, y: sum, dash: true, colour: 8 }]
}

export function Graph(p: GraphProps) {
  const lines = useMemo(() => linesOf(p.panel, p.compare), [p.panel, p.compare])
  const n = Math.max(0, ...lines.map((l) => l.y.length))
  const x = useMemo(() => middles(p.from, p.step, n), [p.from, p.step, n])
  return (
    <Plot title={p.panel.title} x={x} lines={lines} unit={p.panel.unit} stacked={p.panel.stacked} from={p.range.from}
      to={p.range.to} step={p.step} {...(p.events ? { marks: p.events } : {})}
      {...(p.sync === undefined ? {} : { sync: p.sync })} {...(p.height === undefined ? {} : { height: p.height })}
      {...(p.table === undefined ? {} : { table: p.table })} onZoom={p.onZoom} onBack={p.onBack} onPick={p.onPick} />
  )
}

// A heat map: time across, a logarithmic scale up, and colour for how many. Drawn on a canvas.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { count, text } from '../core/format'
import { theme, token } from '../core/theme'
import { moment } from '../core/time'
import { safe } from '../kit/sqltext'
import { decades, heat, held, hottest, steps, ticks, type HeatMap } from './heat'
import './graph.css'

export interface HeatProps {
  map: HeatMap
  from: number
  to: number
  /** Read out, with the values. */
  title: string
  height?: number
  onZoom?: ((from: number, to: number) => void) | undefined
}

interface Cell { column: number; row: number }

const left = 52
const bottom = 22
const top = 4

/** In words what a cell holds. */
function words(m: HeatMap, c: Cell): string {
  const col = m.columns[c.column]
  if (!col) return ''
  const when = `${moment(col.from, { seconds: true })} to ${moment(col.to, { seconds: true })}`
  const all = col.cells.reduce((a, [, n]) => a + n, 0)
  if (all === 0 && col.reason) return `${when}: no distribution: ${col.reason}`
  return `${when}, ${text(m.bounds[c.row], 's')} to ${text(m.bounds[c.row + 1], 's')}: ` +
    `${count(held(m, c.column, c.row))} of ${count(all)} statements`
}

export function Heat(p: HeatProps) {
  const { map } = p
  const shade = theme.value
  const height = p.height ?? 190
  const rows = Math.max(map.bounds.length - 1, 1)
  const most = useMemo(() => hottest(map), [map])
  const canvas = useRef<HTMLCanvasElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const [at, setAt] = useState<Cell>()
  const [focus, setFocus] = useState(false)
  const down = useRef<number>()
  const span = Math.max(p.to - p.from, 1)
  const inner = Math.max(width - left, 1)
  const xOf = (t: number) => left + (t - p.from) / span * inner
  const tall = height - bottom - top

  useLayoutEffect(() => {
    const el = box.current
    if (!el) return
    setWidth(el.clientWidth)
    const o = new ResizeObserver(() => setWidth(el.clientWidth))
    o.observe(el)
    return () => o.disconnect()
  }, [])
  useEffect(() => setAt(undefined), [map.columns.length, map.bounds.length])

  useLayoutEffect(() => {
    const el = canvas.current
    const g = el?.getContext('2d')
    if (!el || !g || width === 0) return
    const scale = devicePixelRatio || 1
    el.width = Math.round(width * scale)
    el.height = Math.round(height * scale)
    g.setTransform(scale, 0, 0, scale, 0, 0)
    g.clearRect(0, 0, width, height)
    const hot = token('--c1')
    map.columns.forEach((c) => {
      const x = Math.max(xOf(c.from), left)
      const w = Math.min(xOf(c.to), width) - x
      if (w <= 0) return
      if (c.cells.length === 0 && c.reason) {
        g.globalAlpha = 1
        g.fillStyle = token('--sunken')
        g.fillRect(x, top, w, tall)
      }
      g.fillStyle = hot
      for (const [row, n] of c.cells) {
        const y0 = Math.round((top + tall * (1 - (row + 1) / rows)) * scale) / scale
        const y1 = Math.round((top + tall * (1 - row / rows)) * scale) / scale
        g.globalAlpha = heat(n, most)
        g.fillRect(x, y0, w > 3 ? w - 0.5 : w, y1 - y0)
      }
    })
    g.globalAlpha = 1
    g.font = `11px ${token('--font') || 'sans-serif'}`
    g.fillStyle = token('--faint')
    g.strokeStyle = token('--line')
    g.lineWidth = 1
    g.textAlign = 'right'
    g.textBaseline = 'middle'
    for (const d of decades(map.bounds)) {
      const y = Math.round(top + tall * (1 - d.at)) + 0.5
      g.beginPath()
      g.moveTo(left, y)
      g.lineTo(width, y)
      g.stroke()
      g.fillText(text(d.value, 's'), left - 6, y)
    }
    g.textBaseline = 'top'
    g.textAlign = 'center'
    for (const t of ticks(p.from, p.to, Math.max(2, Math.floor(inner / 90)))) {
      const half = g.measureText(moment(t)).width / 2
      g.fillText(moment(t), Math.max(left, Math.min(xOf(t), width - half)), height - bottom + 6)
    }
    const c = at && map.columns[at.column]
    if (at && c) {
      g.strokeStyle = token('--text')
      const x = Math.max(xOf(c.from), left)
      g.strokeRect(x, top + tall * (1 - (at.row + 1) / rows), Math.max(xOf(c.to) - x, 3), Math.max(tall / rows, 3))
    }
  }, [map, width, height, shade, at, p.from, p.to])

  const cellAt = (e: MouseEvent): Cell | undefined => {
    const r = canvas.current?.getBoundingClientRect()
    if (!r) return undefined
    const t = p.from + (e.clientX - r.left - left) / inner * span
    const column = map.columns.findIndex((c) => c.from <= t && t < c.to)
    const row = Math.floor((1 - (e.clientY - r.top - top) / tall) * rows)
    return column < 0 || row < 0 || row >= rows ? undefined : { column, row }
  }
  const timeAt = (e: MouseEvent) =>
    p.from + (e.clientX - (canvas.current?.getBoundingClientRect().left ?? 0) - left) / inner * span
  const keys: Record<string, [number, number]> = {
    ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
  }
  const onKey = (e: KeyboardEvent) => {
    const k = keys[e.key]
    if (!k || map.columns.length === 0) return
    e.preventDefault()
    e.stopPropagation()
    setAt((c) => c === undefined ? { column: map.columns.length - 1, row: fullest(map, map.columns.length - 1) } : {
      column: Math.max(0, Math.min(map.columns.length - 1, c.column + k[0])),
      row: Math.max(0, Math.min(rows - 1, c.row + k[1])),
    })
  }
  const all = map.columns.reduce((a, c) => c.cells.reduce((b, [, n]) => b + n, a), 0)
  return (
    <div class="heat">
      <div class="plot-legend">
        <span class="plot-key">statements per cell</span>
        {steps(most).map((n) => (
          <span key={n} class="plot-key">
            <span class="plot-swatch hue-1" style={{ opacity: heat(n, most) }} />{count(n)}
          </span>
        ))}
        {map.columns.some((c) => c.cells.length === 0 && c.reason) &&
          <span class="plot-key"><span class="plot-swatch rest" />no distribution</span>}
        <span class="heat-at" role="status">{safe(at ? words(map, at) : focus ? 'Arrow keys read the cells' : '')}</span>
      </div>
      <div class="heat-box" ref={box} role="img" tabIndex={0} style={{ height: `${height}px` }} onKeyDown={onKey}
        onFocus={() => setFocus(true)} onBlur={() => { setFocus(false); setAt(undefined) }}
        aria-label={safe(`${p.title}: ${count(all)} statements between ${text(map.bounds[0], 's')} and ` +
          `${text(map.bounds[map.bounds.length - 1], 's')}. Arrow keys read single cells.`)}
        onMouseMove={(e) => setAt(cellAt(e))} onMouseLeave={() => setAt(undefined)}
        onMouseDown={(e) => { down.current = e.button === 0 ? timeAt(e) : undefined }}
        onMouseUp={(e) => {
          const a = down.current
          const b = timeAt(e)
          down.current = undefined
          if (a !== undefined && Math.abs(b - a) / span * inner >= 4) p.onZoom?.(Math.min(a, b), Math.max(a, b))
        }}>
        <canvas ref={canvas} />
      </div>
    </div>
  )
}

/** The row of a column that holds most. */
function fullest(m: HeatMap, column: number): number {
  return (m.columns[column]?.cells ?? []).reduce((a, c) => c[1] > a[1] ? c : a, [0, 0])[0]
}

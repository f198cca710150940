// A plot: lines over time or over anything else, drawn by uPlot, with a legend that shows values.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { figure, text } from '../core/format'
import { theme, token } from '../core/theme'
import { moment } from '../core/time'
import { safe } from '../kit/sqltext'
import { build, data, draw, hue, shape, type Colours, type Drawn, type Picture } from './build'
import { describe, last, mean, least, most } from './figures'
import { drawMarks, kindName, marksAt } from './marks'
import { inTurn } from './turn'
import type { Mark, PlotLine } from './types'
import './graph.css'

export interface PlotProps {
  /** Unix seconds. */
  x: number[]
  lines: PlotLine[]
  unit: string
  /** The ends of x; without them those of the values. */
  from?: number
  to?: number
  stacked?: boolean
  height?: number
  /** Plots of the same name share their cursor. */
  sync?: string
  marks?: Mark[]
  /** Read out, with the values. */
  title: string
  /** Seconds that a point stands for: the legend shows from when to when. */
  step?: number
  /** Figures in place of the picture. */
  table?: boolean
  onZoom?: ((from: number, to: number) => void) | undefined
  onBack?: (() => void) | undefined
  /** The x under the cursor, when it is clicked without being dragged. */
  onPick?: ((x: number) => void) | undefined
}

/** The x under the cursor of the plots that share one; undefined when it is nowhere. Read, not followed. */
export const cursors = new Map<string, number>()

function colours(): Colours {
  return {
    lines: Array.from({ length: 8 }, (_, i) => token(`--c${i + 1}`)), text: token('--faint'), grid: token('--line'),
    surface: token('--surface'), rest: token('--sunken'), warn: token('--warn'),
    font: `11px ${token('--font') || 'sans-serif'}`,
  }
}

/** The unit as it stands behind a figure in a legend: words that the title has are left out. */
function spoken(unit: string): string {
  if (unit === 'rows/s') return '/s'
  return ['/s', 's', 'B', 'B/s', 'ratio', '%', 'ms'].includes(unit) ? unit : ''
}

/** Whether an element is in sight, or nearly. */
function inSight(el: Element): boolean {
  const r = el.getBoundingClientRect()
  return r.bottom > -200 && r.top < innerHeight + 200
}

export function Plot(p: PlotProps) {
  const { lines, unit } = p
  const shade = theme.value
  const height = p.height ?? 160
  const picture: Picture = useMemo(
    () => ({
      x: p.x, from: p.from ?? p.x[0] ?? 0, to: p.to ?? p.x[p.x.length - 1] ?? 1, unit, stacked: p.stacked === true,
      lines,
    }),
    [p.x, p.from, p.to, unit, p.stacked, lines])
  const drawn = useMemo(() => draw(picture), [picture])
  const form = shape(drawn)

  const box = useRef<HTMLDivElement>(null)
  const tip = useRef<HTMLDivElement>(null)
  const when = useRef<HTMLSpanElement>(null)
  const values = useRef<(HTMLElement | null)[]>([])
  const plot = useRef<uPlot>()
  const now = useRef<Drawn>(drawn)
  const props = useRef(p)
  const [seen, setSeen] = useState(false)
  const wanted = useRef(false)
  wanted.current ||= seen
  const due = useRef(false) // it waits for its turn to be made
  now.current = drawn
  props.current = p

  // Only what is in sight is drawn. What is in sight at first is drawn at once.
  useLayoutEffect(() => {
    const el = box.current
    if (!el) return
    setSeen(inSight(el))
    const o = new IntersectionObserver((es) => setSeen(es[es.length - 1]?.isIntersecting ?? false),
      { rootMargin: '200px' })
    o.observe(el)
    return () => o.disconnect()
  }, [p.table])

  const tell = (i: number | null | undefined) => {
    const { picture } = now.current
    const q = props.current
    picture.lines.forEach((l, k) => {
      const el = values.current[k]
      if (!el) return
      const t = text(i === null || i === undefined ? last(l.y) : l.y[i], spoken(l.unit ?? unit))
      if (el.textContent !== t) el.textContent = t
    })
    if (when.current) {
      const x = i === null || i === undefined ? undefined : picture.x[i]
      const t = x === undefined ? '' : moment(q.step ? Math.floor(x - q.step / 2 + 0.001) : x, { seconds: true })
      if (when.current.textContent !== t) when.current.textContent = t
    }
  }

  const showTip = (u: uPlot) => {
    const el = tip.current
    if (!el) return
    const { left } = u.cursor
    const marks = props.current.marks ?? []
    const t = left === undefined || left < 0 ? NaN : u.posToVal(left, 'x')
    const reach = Math.abs(u.posToVal(6, 'x') - u.posToVal(0, 'x'))
    const found = Number.isNaN(t) || props.current.sync === undefined ? [] : marksAt(marks, t, reach)
    const own = u.over.matches(':hover')
    if (found.length === 0 || !own) {
      el.hidden = true
      return
    }
    el.replaceChildren(
      ...found.slice(0, 4).map((m) => {
        const d = document.createElement('div')
        const b = document.createElement('b')
        b.textContent = `${moment(m.at, { seconds: true })} ${safe(kindName(m.kind))}`
        d.append(b, ' ' + safe(m.text))
        return d
      }),
      ...(found.length > 4 ? [`${found.length - 4} more`] : []))
    el.hidden = false
    const x = (left ?? 0) + u.over.offsetLeft
    const wide = u.over.offsetLeft + u.over.clientWidth
    el.style.left = `${Math.max(0, Math.min(x + 8, wide - el.offsetWidth))}px`
  }

  const make = (el: HTMLElement, c: Colours): uPlot => {
    let down = false
    const made = new uPlot(
      {
        width: Math.max(80, el.clientWidth), height, pxAlign: 1,
        padding: [6, 17, 0, 0], // on the right half of the last moment's text
        legend: { show: false },
        ...build(() => now.current, c),
        cursor: {
          y: false, points: { show: false },
          drag: { x: p.onZoom !== undefined, y: false, setScale: false },
          ...(p.sync === undefined ? {} : { sync: { key: p.sync, setSeries: false, scales: ['x', null] } }),
          bind: {
            dblclick: () => () => {
              props.current.onBack?.()
              return null
            },
          },
        },
        hooks: {
          setCursor: [
            (u) => {
              const { idx, left } = u.cursor
              const on = left !== undefined && left >= 0
              const q = props.current
              if (q.sync !== undefined) {
                if (on) cursors.set(q.sync, u.posToVal(left, 'x'))
                else cursors.delete(q.sync)
              }
              tell(on ? idx : undefined)
              showTip(u)
            },
          ],
          setSelect: [
            (u) => {
              if (!down) return // another one's, whose cursor is shared
              down = false
              const { left, width } = u.select
              const a = u.posToVal(left, 'x')
              const b = u.posToVal(left + width, 'x')
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
              if (width >= 4) props.current.onZoom?.(a, b)
            },
          ],
          draw: [(u) => drawMarks(u, props.current.marks ?? [], c)],
        },
      },
      data(now.current), el)
    let downAt = -1
    made.over.addEventListener('mousedown', (e) => {
      down = e.button === 0
      downAt = e.clientX
    })
    made.over.addEventListener('click', (e) => {
      if (e.detail < 2 && Math.abs(e.clientX - downAt) < 3) props.current.onPick?.(made.posToVal(e.offsetX, 'x'))
    })
    return made
  }

  // An old plot stays until the new one is there.
  useLayoutEffect(() => {
    const el = box.current
    if (!el || !wanted.current || p.table === true) {
      plot.current?.destroy()
      plot.current = undefined
      return
    }
    const c = colours()
    let frame = 0
    const resized = new ResizeObserver(() => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => {
        const u = plot.current
        if (u && el.clientWidth > 0 && (Math.abs(el.clientWidth - u.width) > 0 || u.height !== height))
          u.setSize({ width: el.clientWidth, height })
      })
    })
    due.current = true
    const callOff = inTurn(() => {
      due.current = false
      const old = plot.current
      plot.current = make(el, c)
      old?.destroy()
      tell(undefined)
      resized.observe(el)
    })
    return () => {
      callOff()
      cancelAnimationFrame(frame)
      resized.disconnect()
    }
  }, [form, shade, height, p.sync, p.onZoom !== undefined, wanted.current, p.table])
  useEffect(() => () => plot.current?.destroy(), [])

  // On paper everything is seen: what was not drawn yet, or is older than its data, is drawn before the pages are laid
  // out.
  useEffect(() => {
    const print = () => {
      const el = box.current
      if (!el || props.current.table === true) return
      wanted.current = true // it stays when new data come meanwhile
      if (plot.current) plot.current.setData(data(now.current))
      else plot.current = make(el, colours())
      tell(undefined)
    }
    addEventListener('beforeprint', print)
    return () => removeEventListener('beforeprint', print)
  }, [height, p.sync, p.onZoom !== undefined])

  useLayoutEffect(() => {
    if (!seen || !plot.current || due.current) return
    return inTurn(() => {
      const u = plot.current
      if (!u) return
      const { picture, courses } = now.current
      if (u.data[0] !== picture.x || u.data[1] !== courses[0]?.y) u.setData(data(now.current))
      else u.redraw(false)
      const { left, idx } = u.cursor
      tell(left !== undefined && left >= 0 ? idx : undefined)
    })
  }, [drawn, seen, p.marks])

  useEffect(() => () => void (p.sync !== undefined && cursors.delete(p.sync)), [p.sync])

  const labelled = lines.map((l, i) => ({ l, i })).filter(({ l }) => l.quiet !== true)
  return (
    <div class="plot">
      <div class="plot-legend" aria-hidden="true">
        {labelled.map(({ l, i }) => (
          <span key={l.name} class="plot-key">
            <span class={`plot-swatch${l.limit || l.dash ? ' dashed' : ''}${l.rest ? ' rest' : ''} ` +
                `hue-${l.limit ? 0 : hue(l, i) + 1}`} />
            <span class="plot-name">{safe(l.name)}</span>
            <span class="plot-value" ref={(el) => { values.current[i] = el }} />
          </span>
        ))}
        <span class="plot-when" ref={when} />
      </div>
      {p.table === true ? <Values lines={lines} unit={unit} title={p.title} /> : (
        <div class="plot-box" ref={box} role="img" aria-label={safe(describe(p.title, unit, lines))}
          style={{ height: `${height}px` }}>
          <div class="plot-tip" ref={tip} hidden />
        </div>
      )}
    </div>
  )
}

/** The figures of lines in place of their picture. */
function Values({ lines, unit, title }: { lines: PlotLine[]; unit: string; title: string }) {
  const cell = (v: number | null, u: string) => {
    const f = figure(v !== null && Number.isNaN(v) ? null : v, u)
    return <td class="right">{f.value}{f.unit && <span class="unit">{f.unit}</span>}</td>
  }
  return (
    <table class="plot-table">
      <caption class="hide">{safe(title)}</caption>
      <thead>
        <tr>
          <th scope="col">line</th>
          <th scope="col" class="right">last</th>
          <th scope="col" class="right">mean</th>
          <th scope="col" class="right">min</th>
          <th scope="col" class="right">max</th>
        </tr>
      </thead>
      <tbody>
        {lines.filter((l) => l.quiet !== true)
          .map((l) => (
            <tr key={l.name}>
              <th scope="row">{safe(l.name)}</th>
              {cell(last(l.y), spoken(l.unit ?? unit))}
              {cell(mean(l.y), spoken(l.unit ?? unit))}
              {cell(least(l.band?.[0] ?? l.y), spoken(l.unit ?? unit))}
              {cell(most(l.band?.[1] ?? l.y), spoken(l.unit ?? unit))}
            </tr>
          ))}
      </tbody>
    </table>
  )
}

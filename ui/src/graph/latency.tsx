// How the times of statements were distributed: quantiles over time and a heat map, of a class or of a server.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { get } from '../core/api'
import { useData } from '../core/data'
import { count, text } from '../core/format'
import type { Latency as Answer } from '../core/openapi.gen'
import { safe } from '../kit/sqltext'
import { Loading, Problem, Unobservable } from '../kit/state'
import { Heat } from './heatmap'
import { Plot } from './plot'
import type { HeatMap } from './heat'

export interface LatencyProps {
  target: string
  /** A class; without it all statements of the server. */
  id?: string
  from: number
  to: number
  /** The window ends now: it is asked again each minute. */
  live?: boolean
  sync?: string
  onZoom?: ((from: number, to: number) => void) | undefined
}

/** Nothing is asked before it comes into sight. */
export function Latency(p: LatencyProps) {
  const [seen, setSeen] = useState(false)
  const box = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const el = box.current
    if (!el || seen) return
    const o = new IntersectionObserver((es) => es.some((e) => e.isIntersecting) && setSeen(true),
      { rootMargin: '100px' })
    o.observe(el)
    return () => o.disconnect()
  }, [seen])
  const from = Math.floor(p.from)
  const to = Math.ceil(p.to)
  // A window that moves along is another one each minute.
  const key = p.live ? `${to - from}\n${Math.floor(to / 60)}` : `${from}\n${to}`
  const data = useData<Answer>(seen ? `latency\n${p.target}\n${p.id ?? ''}\n${key}` : null,
    (signal) => get('latency', { target: p.target, ...(p.id ? { id: p.id } : {}), from, to }, signal), { keep: true })
  return (
    <section class="section latency" ref={box} aria-label="Latency distribution">
      <h2>Latency distribution</h2>
      {data.value ? <Content v={data.value} p={p} /> : data.error
        ? <Problem error={data.error} retry={data.reload} what="Latency distribution" />
        : seen ? <Loading lines={6} /> : <div class="latency-later" />}
    </section>
  )
}

function Content({ v, p }: { v: Answer; p: LatencyProps }) {
  const seconds = (t: string) => Date.parse(t) / 1000
  const columns = v.columns ?? []
  const map = useMemo<HeatMap>(() => ({
    bounds: v.bounds ?? [],
    columns: columns.map((c) => ({
      from: seconds(c.from), to: seconds(c.to), cells: (c.cells ?? []) as [number, number][], reason: c.reason,
    })),
  }), [v])
  const x = useMemo(() => columns.map((c) => (seconds(c.from) + seconds(c.to)) / 2), [v])
  const lines = useMemo(() => [
    { name: 'p50', y: columns.map((c) => c.p50 ?? null), colour: 3 },
    { name: 'p95', y: columns.map((c) => c.p95 ?? null), colour: 5 },
    { name: 'p99', y: columns.map((c) => c.p99 ?? null), colour: 2 },
  ], [v])
  if (v.count === 0) return <Unobservable what="Latency distribution" why={v.reason ?? 'No statements in this time range.'} />
  const own = v.own ?? 0
  return (
    <>
      <p class="dim">
        p50 <b>{text(v.p50, 's')}</b>, p95 <b>{text(v.p95, 's')}</b>, p99 <b>{text(v.p99, 's')}</b> of {count(v.count)}{' '}
        statements, {v.origin === 'slow_log' ? 'from the slow log (±1 %)'
          : "from the server's histograms (±5 %, the width of their buckets)"}.
        {own > 0 && ` ${text(own / v.count, 'ratio')} of these are Dyno's own.`}
        {v.reason && ` Part of the window has no distribution: ${safe(v.reason)}.`}
      </p>
      <div class="courses latency-parts">
        <div class="panel plot"><h3>Quantiles</h3>
          {x.length < 2 ? <p class="dim">A trend needs two minutes of data.</p> : (
            <Plot title="Quantiles of the time of a statement" x={x} lines={lines} unit="s" from={p.from} to={p.to}
              height={190} {...(p.sync === undefined ? {} : { sync: p.sync })} onZoom={p.onZoom} />
          )}
        </div>
        <div class="panel plot"><h3>Heat map</h3>
          <Heat title="Statements by their time" map={map} from={p.from} to={p.to} onZoom={p.onZoom} /></div>
      </div>
    </>
  )
}

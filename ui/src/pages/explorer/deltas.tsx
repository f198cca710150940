// How much each counter grew between two times, as `mysqladmin -r extended` shows it of now.
import { useMemo } from 'preact/hooks'
import { count, exploreLink, moment, now, seconds, setParams, span, useGet, useKeys, useParam, useRange,
  useTarget } from '../../core'
import { Explore, Graph } from '../../graph'
import { Button, Empty, Notice, Num, Search, Show, Table, safe, type Column } from '../../kit'
import { quote } from './complete'
import type { Delta, Deltas as Answer } from '../../core/openapi.gen'

/** A moment of the address in whole seconds; without one, or with what is none, otherwise. */
function useMoment(name: string, otherwise: number): number {
  const [v] = useParam(name)
  return /^\d+$/.test(v) ? Number(v) : otherwise
}

export function Deltas() {
  const [target] = useTarget()
  const [range, setRange] = useRange()
  const a = useMoment('a', Math.floor(range.from))
  const b = useMoment('b', Math.floor(range.to))
  const fixed = useParam('b')[0] !== ''
  const set = (x: { a?: number; b?: number }) => {
    const to = { a, b, ...x }
    if (to.a < to.b) setParams(to, { replace: true })
  }
  useKeys({
    ',': { help: 'begin 1 s earlier', run: () => set({ a: a - 1 }) },
    '.': { help: 'begin 1 s later', run: () => set({ a: a + 1 }) },
    '<': { help: 'end 1 s earlier', run: () => set({ b: b - 1 }) },
    '>': { help: 'end 1 s later', run: () => set({ b: Math.min(b + 1, Math.floor(now())) }) },
  })
  const graph = useGet('graphs', { target, from: Math.floor(range.from), to: Math.ceil(range.to), panel: ['throughput'] },
    { keep: true })
  const deltas = useGet('deltas', { target, from: a, to: b }, { keep: true })
  const marks = useMemo(() => [{ id: 'a', at: a, kind: 'note', text: 'begin' }, { id: 'b', at: b, kind: 'note',
    text: 'end' }], [a, b])
  const g = graph.value
  const panel = g?.panels[0]
  return (
    <div class="stack loose">
      <section class="stack" aria-label="Time range">
        <div class="row wrap">
          <When name="Begin" at={a} set={(x) => set({ a: x })} />
          <When name="End" at={b} set={(x) => set({ b: x })} />
          <span class="dim">{span(b - a)}</span>
          {fixed && <Button small onClick={() => setParams({ a: null, b: null }, { replace: true })}>
            Whole time range</Button>}
          <span class="faint grow">Click the graph to move the nearer end.</span>
          {panel && <Explore panel={panel} />}
        </div>
        {g && panel && <div class="panel ex-plot">
          <Graph panel={panel} from={g.from} step={g.step} range={range} events={marks} height={120} sync="deltas"
            onZoom={(x, y) => setRange(String(Math.floor(x)), String(Math.ceil(y)))}
            onPick={(t) => set(Math.abs(t - a) <= Math.abs(t - b) ? { a: Math.round(t) } : { b: Math.round(t) })} />
        </div>}
      </section>
      <Show of={deltas} what="Counters" lines={8}>{(v) => <Counters v={v} />}</Show>
    </div>
  )
}

/** A moment to the second, to be typed and stepped. */
function When(p: { name: string; at: number; set: (at: number) => void }) {
  const d = new Date((p.at - new Date(p.at * 1000).getTimezoneOffset() * 60) * 1000)
  return (
    <label class="row dim">{p.name}
      <Button small kind="quiet" icon="left" label={`${p.name} 1 s earlier`} onClick={() => p.set(p.at - 1)} />
      <input class="input" type="datetime-local" step="1" value={d.toISOString().slice(0, 19)}
        onChange={(e) => {
          const t = Date.parse(e.currentTarget.value) / 1000
          if (Number.isFinite(t)) p.set(t)
        }} />
      <Button small kind="quiet" icon="right" label={`${p.name} 1 s later`} onClick={() => p.set(p.at + 1)} />
    </label>
  )
}

interface Row { key: string; d: Delta; rate: number | undefined; expr: string }

function Counters({ v }: { v: Answer }) {
  const [q] = useParam('q')
  const [zero, setZero] = useParam('zero')
  const rows = useMemo(() => (v.counters ?? []).map((d): Row => ({ key: nameOf(d), d,
    rate: d.grown === undefined ? undefined : d.grown / d.seconds, expr: rateOf(d, v.target) })), [v])
  const parts = q.toLowerCase().split(/\s+/)
  const shown = rows.filter((r) => (zero !== '' || r.d.grown !== 0) && parts.every((x) =>
    r.key.toLowerCase().includes(x)))
  const from = seconds(v.from)
  return (
    <section class="stack" aria-label="Counters">
      {v.restarted && <Notice tone="warn">
        <b>The server restarted in between</b>, at {moment(seconds(v.restarted), { date: true, seconds: true })}:
        {' '}its counters show what they grew since then, not since {moment(from, { date: true, seconds: true })}.
      </Notice>}
      <header class="row wrap">
        <h2 class="grow">Counters <span class="faint">{count(shown.length)} of {count(rows.length)}</span></h2>
        <Button small pressed={zero !== ''} onClick={() => setZero(zero === '' ? '1' : null, { replace: true })}>
          Show unchanged
        </Button>
        <Search label="Search counters" placeholder="Name or label" />
      </header>
      <Table label="counters" columns={columns} rows={shown} rowKey={(r) => r.key} sort="-rate"
        empty={<Empty icon="search" title={rows.length === 0 ? 'No counter was read at both times'
          : 'No counter matches'} hint={zero === '' ? 'Counters that did not change are hidden.' : undefined} />} />
    </section>
  )
}

function nameOf(d: Delta): string {
  const labels = Object.entries(d.labels ?? {}).map(([k, x]) => `${k}=${quote(x)}`).join(', ')
  return labels === '' ? d.name : `${d.name}{${labels}}`
}

/** The rate of a counter over time in PromQL. */
function rateOf(d: Delta, target: string): string {
  const labels = Object.entries({ target, ...d.labels }).map(([k, x]) => `${k}=${quote(x)}`).join(', ')
  return `rate(${d.name}{${labels}}[1m])`
}

const columns: Column<Row>[] = [
  { key: 'name', head: 'Counter', class: 'mono ex-series', lead: true, value: (r) => r.key,
    cell: (r) => <a href={exploreLink([r.expr])} title="Explore: its rate over time">{safe(r.key)}</a> },
  { key: 'grown', head: 'Difference', align: 'right', value: (r) => r.d.grown,
    cell: (r) => r.d.grown === undefined
      ? <span class="faint" title="The counter fell in between, for example with FLUSH STATUS or a start of its machine.">
        was reset</span>
      : Number.isInteger(r.d.grown) ? count(r.d.grown) : <Num v={r.d.grown} unit="" /> },
  { key: 'rate', head: 'Per second', align: 'right', value: (r) => r.rate, cell: (r) => <Num v={r.rate} unit="/s" /> },
  { key: 'seconds', head: 'Interval', align: 'right', value: (r) => r.d.seconds, cell: (r) => span(r.d.seconds),
    title: 'between the two samples that are compared; some sources are read every 10 s to 60 s' },
]

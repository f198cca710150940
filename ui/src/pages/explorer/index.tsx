// The metric explorer: any PromQL over what Dyno keeps, as graph and table.
import { useMemo, useRef } from 'preact/hooks'
import { asError, go, href, prometheus, queryRange, setParams, spread, text, useData, useParam, useRange, useTarget,
  type Course, type Range } from '../../core'
import { Plot, type PlotLine } from '../../graph'
import { Button, Empty, Loading, Num, Page, Problem, Search, Show, Table, Tabs, safe, type Column } from '../../kit'
import { duration, expressionOf, namesOf, quote, stepFor, steps, unitOf } from './complete'
import { Editor, type Metric } from './editor'
import { Deltas } from './deltas'
import './explorer.css'

export function ExplorerPage() {
  const [view] = useParam('view')
  return (
    <Page title="Explorer" target range wide>
      <div class="stack">
        <Tabs label="View" param="view" items={[
          { key: 'expressions', name: 'Expressions' }, { key: 'counters', name: 'Counters' }]} />
        {view === 'counters' ? <Deltas /> : <Explorer />}
      </div>
    </Page>
  )
}

export default ExplorerPage

const most = 30 // lines that are drawn
const asked = 1000 // series of an expression that are asked for

interface Answered { expr: string; courses: Course[]; error: string | undefined; warnings: string[] }

/**
 * Evaluates each expression; an error is that expression's alone. One that is no PromQL is remembered in wrong: it is
 * not asked again.
 */
async function evaluate(exprs: string[], r: Range, step: number, wrong: Map<string, Answered>,
  signal: AbortSignal): Promise<Answered[]> {
  const start = Math.floor(r.from / step) * step
  return Promise.all(exprs.map(async (expr) => {
    if (expr === '') return { expr, courses: [], error: undefined, warnings: [] }
    const before = wrong.get(expr)
    if (before) return before
    try {
      const a = await queryRange({ query: expr, start, end: r.to, step, limit: asked }, signal)
      return { expr, courses: spread(a, start, r.to, step), error: undefined, warnings: a.warnings ?? [] }
    } catch (e) {
      if (signal.aborted) throw e
      const x = asError(e)
      if (x.status === 0) throw e
      const failed = { expr, courses: [], error: x.message, warnings: [] }
      if (x.status === 400) wrong.set(expr, failed)
      return failed
    }
  }))
}

/** A series that is shown, with the figures of its window. */
interface Row {
  key: string
  of: number // the expression, from 0
  name: string
  course: Course
  last: number | undefined
  mean: number | undefined
  min: number | undefined
  max: number | undefined
}

/** An expression as the name of a line: without its target, and cut. */
function brief(expr: string): string {
  const s = expr.replace(/target="[^"]*",?/g, '').replaceAll('{}', '')
  return s.length > 60 ? s.slice(0, 58) + '…' : s
}

function rowsOf(all: Answered[]): Row[] {
  const flat = all.flatMap((a, of) => a.courses.map((course) => ({ of, course, expr: a.expr })))
  const names = namesOf(flat.map((x) => x.course.labels))
  const several = all.filter((a) => a.courses.length > 0).length > 1
  return flat.map((x, i) => {
    const known = x.course.values.filter((v): v is number => v !== null)
    const name = names[i] || brief(x.expr)
    return {
      key: String(i), of: x.of, course: x.course,
      name: names[i] !== '' && several && names[i] !== '' && !names[i]?.includes('{') ? `${x.of + 1}: ${name}` : name,
      last: known[known.length - 1], mean: known.length > 0 ? known.reduce((a, b) => a + b, 0) / known.length : undefined,
      min: known.length > 0 ? known.reduce((a, b) => Math.min(a, b)) : undefined,
      max: known.length > 0 ? known.reduce((a, b) => Math.max(a, b)) : undefined,
    }
  })
}

function Explorer() {
  const [target] = useTarget()
  const [range, setRange] = useRange()
  const [param, setExpr] = useParam('expr')
  const [stepParam, setStep] = useParam('step')
  const [stack, setStack] = useParam('stack')
  const exprs = param.split('\n')
  const given = Number(stepParam)
  const span = range.to - range.from
  const auto = stepFor(span)
  const step = Number.isInteger(given) && given > 0 && span / given <= 11_000 ? given : auto
  const window = duration(Math.max(60, step))
  const metrics = useMetrics(target)
  const wrong = useRef(new Map<string, Answered>())
  const data = useData(param.trim() === '' ? null : `explore\n${target}\n${param}\n${range.key}\n${step}`,
    (signal) => evaluate(exprs, range, step, wrong.current, signal), { every: range.live ? Math.max(5000, step * 1000) : 0, keep: true })
  const set = (i: number, e: string) => setExpr(exprs.map((x, k) => (k === i ? e : x)).join('\n'))
  const add = (m: Metric) => {
    const e = expressionOf(m.name, m.kind === 'counter', target, window)
    setParams({ expr: [...exprs.filter((x) => x !== ''), e].join('\n'), metric: null })
  }
  return (
    <div class="stack loose">
      <section class="stack" aria-label="Expressions">
        {exprs.map((e, i) => (
          <Editor key={i} value={e} target={target} window={window} metrics={metrics.value ?? []}
            label={`Expression ${i + 1}`} autofocus={param === ''}
            error={data.value?.find((a) => a.expr === e && e !== '')?.error} run={(x) => set(i, x)}
            remove={exprs.length > 1 ? () => setExpr(exprs.filter((_, k) => k !== i).join('\n')) : undefined} />
        ))}
        <div class="row wrap">
          <Button small icon="plus" onClick={() => setExpr([...exprs, ''].join('\n'))}>Add expression</Button>
          <span class="grow" />
          <label class="row dim">Step
            <select class="input" value={stepParam} onChange={(e) => setStep(e.currentTarget.value || null)}>
              <option value="">auto ({duration(auto)})</option>
              {steps.filter((s) => span / s <= 11_000 && s < span).map((s) =>
                <option key={s} value={String(s)}>{duration(s)}</option>)}
            </select>
          </label>
          <Button small pressed={stack !== ''} onClick={() => setStack(stack === '' ? '1' : null, { replace: true })}>
            Stacked
          </Button>
        </div>
      </section>
      {param.trim() === '' ? null : data.value === undefined
        ? (data.error ? <Problem error={data.error} retry={data.reload} what="Expressions" /> : <Loading lines={8} />)
        : <Result all={data.value} range={range} step={step} stacked={stack !== ''}
          zoom={(a, b) => setRange(String(Math.floor(a)), String(Math.ceil(b)))} />}
      <Metrics of={metrics} add={add} />
    </div>
  )
}

function Result(p: { all: Answered[]; range: Range; step: number; stacked: boolean
  zoom: (a: number, b: number) => void }) {
  const rows = useMemo(() => rowsOf(p.all), [p.all])
  const drawn = useMemo(() => rows.length <= most ? rows
    : [...rows].sort((a, b) => (b.mean ?? -Infinity) - (a.mean ?? -Infinity)).slice(0, most), [rows])
  const unit = useMemo(() => {
    const units = new Set(p.all.filter((a) => a.courses.length > 0).map((a) => unitOf(a.expr)))
    return units.size === 1 ? [...units][0] ?? '' : ''
  }, [p.all])
  const lines = useMemo(() => drawn.map((r): PlotLine => ({ name: r.name, y: r.course.values })), [drawn])
  const start = Math.floor(p.range.from / p.step) * p.step
  const n = Math.max(0, ...drawn.map((r) => r.course.values.length))
  const x = useMemo(() => Array.from({ length: n }, (_, i) => start + i * p.step), [start, p.step, n])
  const warnings = [...new Set(p.all.flatMap((a) => a.warnings))]
  if (rows.length === 0) {
    if (p.all.some((a) => a.error !== undefined)) return null
    return <Empty icon="explorer" title="No series match in this time range"
      hint="Check names and labels, or choose another time. A series exists only where its source was read." />
  }
  return (
    <section class="stack" aria-label="Result">
      <div class="panel ex-plot">
        <Plot title="Expressions" x={x} lines={lines} unit={unit} stacked={p.stacked} from={p.range.from}
          to={p.range.to} height={320} sync="explorer" onZoom={p.zoom}
          onPick={(t) => go(href('activity', { at: Math.round(t) }))} />
      </div>
      {rows.length > most && <p class="faint">
        The {most} of {rows.length} series with the highest mean are drawn; the table has all.</p>}
      {warnings.map((w) => <p key={w} class="faint">{safe(w)}</p>)}
      <Table label="series" columns={columns(unit)} rows={rows} rowKey={(r) => r.key} />
    </section>
  )
}

const columns = (unit: string): Column<Row>[] => [
  { key: 'series', head: 'Series', class: 'mono ex-series', value: (r) => r.name, lead: true,
    cell: (r) => <span title={safe(whole(r.course.labels))}>{safe(r.name)}</span> },
  ...([['last', 'Last'], ['mean', 'Mean'], ['min', 'Min'], ['max', 'Max']] as const).map(([key, head]): Column<Row> =>
    ({ key, head, align: 'right', value: (r) => r[key], cell: (r) => <Num v={r[key]} unit={unit} /> })),
]

/** A series with all its labels. */
function whole(labels: Record<string, string>): string {
  const { __name__: name = '', ...rest } = labels
  return `${name}{${Object.entries(rest).map(([k, v]) => `${k}=${quote(v)}`).join(', ')}}`
}

interface Described { data: Record<string, { type: string; help: string }[]> }

/** The metrics of a target, with what is known of each. */
function useMetrics(target: string) {
  return useData<Metric[]>(`metrics\n${target}`, async (signal) => {
    const [names, about] = await Promise.all([
      prometheus<{ data: string[] }>('label/__name__/values', { 'match[]': `{target=${quote(target)}}` }, signal),
      prometheus<Described>('metadata', {}, signal)])
    return names.data.map((name) => {
      const m = about.data[name]?.[0]
      return { name, kind: m?.type ?? '', help: m?.help ?? '' }
    })
  })
}

/** All metrics, to be searched by name and by what is said of them. */
function Metrics(p: { of: ReturnType<typeof useMetrics>; add: (m: Metric) => void }) {
  const [q] = useParam('metric')
  return (
    <section class="stack" aria-label="Metrics">
      <header class="row wrap">
        <h2 class="grow">Metrics</h2>
        <Search param="metric" label="Search metrics" placeholder="Name or description" />
      </header>
      <Show of={p.of} what="Metrics" lines={4}>
        {(all) => {
          const parts = q.toLowerCase().split(/\s+/)
          const rows = all.filter((m) => parts.every((x) => (m.name + ' ' + m.help).toLowerCase().includes(x)))
          return <Table label="metrics" columns={metricColumns} rows={rows} rowKey={(m) => m.name} sortParam="order"
            height="360px" onOpen={p.add} empty={<Empty icon="search" title={all.length === 0
              ? 'No metric is stored of this server yet' : `None of ${text(all.length, '')} metrics matches`} />} />
        }}
      </Show>
    </section>
  )
}

const metricColumns: Column<Metric>[] = [
  { key: 'name', head: 'Name', class: 'mono ex-series', value: (m) => m.name, cell: (m) => m.name, lead: true },
  { key: 'kind', head: 'Type', value: (m) => m.kind, cell: (m) => m.kind },
  { key: 'help', head: 'Description', class: 'dim', cell: (m) => safe(m.help) },
]

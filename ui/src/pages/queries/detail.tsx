import { useMemo } from 'preact/hooks'
import { ago, count, get, href, moment, setParams, text, useData, useGet, useRange, withParams,
  type Answer } from '../../core'
import { Latency, Plot } from '../../graph'
import { Badge, Button, Copy, Empty, Figure, Icon, Show, Sql, Unobservable, safe } from '../../kit'
import { courseOf, covered, longestOf, per, rowOf, spread, whole, type Bin } from './figures'
import { Estimated } from './list'
import { Plans } from './plans'
import { Tables } from './tables'
import type { ClassExample as Example, ClassFull as ClassDetail, ClassRow as Class } from '../../core/openapi.gen'

/** One class in full. */
export function Detail({ target, id }: { target: string; id: string }) {
  const [range, setRange] = useRange()
  const data = useData<ClassDetail>(`class\n${target}\n${id}\n${range.key}`,
    (signal) => get('class', { target, id, from: Math.floor(range.from), to: Math.ceil(range.to) }, signal),
    { every: range.live ? 30_000 : 0, keep: true })
  const found = useGet('findings', { target, limit: 1 })
  const back = <a class="button small" href={withParams({ class: null })}><Icon name="left" />All classes</a>
  if (data.error?.status === 404)
    return (
      <Empty icon="queries" title="This class did not run in this time range" hint={
          <>
            <p>
              No data for class <code>{safe(id.slice(0, 64))}</code> on {target} in the {range.text}
                . It may have run at another time, or the link is broken.
            </p>
          </>
        }
        action={
          <div class="choices">
            <Button onClick={() => setParams({ from: '-7d', to: null })}>Last 7 days</Button>
            <Button onClick={() => setParams({ from: '-30d', to: null })}>Last 30 days</Button>
            {back}
          </div>
        } />
    )
  return (
    <Show of={data} lines={10} what="Query class">
      {(v) => <Content v={v} target={target} back={back} seconds={range.to - range.from} live={range.live}
        found={found.value} from={range.from} to={range.to}
        zoom={(a, b) => setRange(String(Math.round(a)), String(Math.round(b)))} />}
    </Show>
  )
}

interface ContentProps {
  v: ClassDetail
  target: string
  back: preact.JSX.Element
  seconds: number
  live: boolean
  found: Answer<'findings'> | undefined
  from: number
  to: number
  zoom: (from: number, to: number) => void
}

function Content(p: ContentProps) {
  const { v } = p
  const c = v.class
  const r = rowOf(c, v.coverage)
  const part = covered(p.seconds, v.coverage, p.live)
  const longest = longestOf(v)
  const findings = p.found?.diagnosis?.findings?.filter((f) => f.subject?.classes?.includes(c.id)) ?? []
  return (
    <article class="class">
      <header class="class-head">
        {p.back}
        <h2 class="cut grow" title={safe(v.item ?? '')}>{safe(v.item || 'Statement')}</h2>
        {c.sampled && <Estimated />}
        <span class="faint mono cut class-id" title={c.origin === 'pg_stat_statements' ? 'id of the class'
          : "id of the class, the same as pt-query-digest's"}>{safe(c.id)}</span>
        <Copy text={c.id} label="Copy id" bare />
      </header>

      <div class="figures">
        <Figure label="Load" value={r.load} unit="" note={`${text(r.share, 'ratio')} of statement time`}
          title="statement time per second: average number of its statements running at once" />
        <Figure label="Calls" value={r.perSec} unit="/s"
          note={`${c.sampled ? 'at least ' : ''}${count(c.count)} in the window`} />
        <Figure label="Mean time" value={r.mean} unit="s" note={c.sampled ? 'n/a (sampled)' : 'per execution'} />
        <Figure label="Longest" value={longest} unit="s" note={longest === undefined ? 'n/a'
          : c.max_sec === undefined ? 'at least: reported for part of the time' : 'execution'} />
        <Figure label="p95" value={c.p95_sec} unit="s" note={c.p95_sec === undefined ? 'n/a' : 'per execution'} />
        <Figure label="Examined per row sent" value={r.perSent} unit=""
          note={`${c.sampled && r.examined !== undefined ? 'at least ' : ''}${text(r.examined, '')} rows per call`}
          {...((r.perSent ?? 0) > 1000 ? { tone: 'warn' as const } : {})} />
        <Figure label="Errors" value={r.errors} unit="/s"
          note={c.errors === undefined ? 'n/a' : `${count(c.errors)} in the window`}
          {...((c.errors ?? 0) > 0 ? { tone: 'bad' as const } : {})} />
        {part && <div class={`coverage ${part.little ? 'tone-warn' : 'faint'}`}>{part.text}</div>}
      </div>

      {findings.length > 0 && (
        <section class="section" aria-label="Findings about this class">
          {findings.map((f) => (
            <p key={f.id} class="row">
              <Badge tone={f.severity === 'critical' ? 'bad' : f.severity === 'warning' ? 'warn' : 'info'}>{f.severity}
              </Badge>
              <a href={href('findings', { finding: f.id })}>{safe(f.title)}</a>
            </p>
          ))}
        </section>
      )}

      <section class="section">
        <header class="row"><h2 class="grow">Statement</h2><Copy text={c.fingerprint} label="Copy" /></header>
        <div class="panel sql-panel"><Sql text={c.fingerprint} /></div>
        <p class="meta faint">
          {(v.tables ?? []).length > 0 && (
            <span>
              Tables: {v.tables?.map((t, i) => (
                <span key={t}>
                  {i > 0 && ', '}
                  <a class="mono" href={withParams({ class: null, q: t })} title="all classes that use it">{safe(t)}</a>
                </span>
              ))}
            </span>
          )}
          {c.schema && <span>Default database: <span class="mono">{safe(c.schema)}</span></span>}
          {c.first_seen && c.last_seen && (
            <span>
              Seen in this window from {moment(Date.parse(c.first_seen) / 1000, { date: true })} to {moment(
                Date.parse(c.last_seen) / 1000, { date: true })}
            </span>
          )}
          <span>Source: {c.origin === 'performance_schema' ? 'performance_schema (exact counts)'
            : c.origin === 'pg_stat_statements' ? 'pg_stat_statements (exact counts)'
            : c.origin === 'processlist' ? 'processlist samples (estimates)' : c.origin}</span>
        </p>
      </section>

      <Courses v={v} window={p.live ? whole(v.buckets, p.from, p.to) : [p.from, p.to]} zoom={p.zoom} />

      <Latency target={p.target} id={c.id} from={p.from} to={p.to} live={p.live} sync="class" onZoom={p.zoom} />

      <div class="halves"><Spread v={v} /><Work c={c} /></div>

      <section class="section">
        <h2>
          Plans <span class="faint">{(v.plans ?? []).length > 1 && `${v.plans?.length} seen, newest first`}</span>
        </h2>
        {(v.plans ?? []).length === 0 ? (
          <Unobservable what="Plan"
            why={v.class.origin === 'pg_stat_statements' ? 'pg_stat_statements stores statements without their ' +
              'values, so their plans are not looked up while watching. A diagnosis explains the heaviest ones.'
              : 'Dyno explains the heaviest classes, each at most every ten minutes, and only statements that are ' +
              'known to be safe to EXPLAIN. No plan of this class is stored yet.'}
            fix={c.origin === 'processlist' || c.origin === 'pg_stat_statements' ? undefined
              : <>This needs a complete example statement and SELECT on its tables: see <a
              href={href('settings', { target: p.target })}>the grants</a>.</>} />
        ) : <Plans plans={v.plans ?? []} />}
      </section>

      {v.table_definitions.length > 0 && <Tables tables={v.table_definitions} names={v.tables.length} />}

      <section class="section">
        <h2>Examples</h2>
        {(v.examples ?? []).length === 0 ? (
          <Unobservable what="Statements with their values"
            why={v.class.origin === 'pg_stat_statements' ? 'pg_stat_statements stores statements without their values.'
              : 'No example captured yet: examples are kept for the heaviest classes, as the server shows them. ' +
              'Of a redacted target they are kept without their values.'} />
        ) : <div class="stack">{v.examples?.map((e, i) => <OneExample key={e.at + i} e={e} />)}</div>}
      </section>
    </article>
  )
}

function OneExample({ e }: { e: Example }) {
  const at = Date.parse(e.at) / 1000
  return (
    <div class="panel example">
      <header>
        <a href={href('activity', { at: Math.ceil(at), class: null })} title="server activity in that second">
          {moment(at, { date: true, seconds: true })}
        </a>
        <span class="faint">{ago(at)}</span>
        {e.sec !== undefined && <b>{text(e.sec, 's')}</b>}
        <span class="dim grow cut">
          {safe([e.schema, e.user && `${e.user}${e.host ? '@' + e.host : ''}`].filter(Boolean).join(' · '))}</span>
        <Copy text={e.sql} label="Copy SQL" />
      </header>
      <div class="body"><Sql text={e.sql} lines={6} /></div>
    </div>
  )
}

function Courses(
  { v, window: [from, to], zoom }: { v: ClassDetail; window: [number, number]; zoom: (from: number, to: number) =>
  void }) {
  const course = useMemo(() => courseOf(v.buckets), [v.buckets])
  const load = useMemo(() => [{ name: 'load', y: course.load }], [course])
  const rate = useMemo(() => [{ name: 'calls', y: course.perSec, colour: 3 }], [course])
  const time =
    useMemo(() => [...(course.mean.some((x) => x !== null) ? [{ name: 'mean', y: course.mean, colour: 4 }] : []),
    ...(course.max.some((x) => x !== null) ? [{ name: 'longest', y: course.max, dash: true, colour: 8 }] : [])],
    [course])
  if (course.x.length < 2) return <section class="section"><h2>Trend</h2>
    <p class="dim">A trend needs two minutes of data; this window has {course.x.length === 0 ? 'none' : 'one'}.</p>
  </section>
  const all = { x: course.x, from, to, sync: 'class', onZoom: zoom, height: 150 }
  return (
    <section class="section">
      <h2>Trend</h2>
      <div class="courses">
        <div class="panel plot"><h3>Load <span class="unit">active sessions</span></h3>
          <Plot {...all} lines={load} unit="" title="Load" /></div>
        <div class="panel plot"><h3>Calls <span class="unit">/s</span></h3>
          <Plot {...all} lines={rate} unit="/s" title="Calls per second" /></div>
        <div class="panel plot"><h3>Time per execution</h3>
          <Plot {...all} lines={time} unit="s" title="Time per execution" /></div>
      </div>
    </section>
  )
}

/** How its minutes spread by their mean time. */
function Spread({ v }: { v: ClassDetail }) {
  const bins = useMemo(() => spread(v.buckets), [v.buckets])
  const top = bins.reduce((a, b) => Math.max(a, b.calls), 0)
  const all = bins.reduce((a, b) => a + b.calls, 0)
  return (
    <section class="section">
      <h2>Distribution of per-minute mean latency</h2>
      {bins.length === 0 ? (
        <Unobservable what="Latency distribution"
          why={v.class.sampled ? 'Processlist samples show total time, not the time of one execution.'
          : 'It did not run in this window.'} />
      ) : (
        <>
          <ol class="spread" aria-label="Calls by per-minute mean latency">
            {bins.map((b) => <Column key={b.from} b={b} top={top} all={all} />)}
          </ol>
          <p class="faint">
            Each minute (or hour) is placed at its mean time and weighted by its calls. Single executions vary more;
              the server&apos;s sums do not show by how much.
          </p>
        </>
      )}
    </section>
  )
}

function Column({ b, top, all }: { b: Bin; top: number; all: number }) {
  const label =
    `${text(b.from, 's')} to ${text(b.to, 's')}: ${count(b.calls)} calls in ${b.minutes} ` +
      `${b.minutes === 1 ? 'window' : 'windows'}, ${text(per(b.calls, all), 'ratio')}`
  return (
    <li title={label}>
      <span class="hide">{label}</span>
      <span class="spread-bar" aria-hidden="true">
        <span style={{ height: `${top > 0 ? Math.max(b.calls > 0 ? 2 : 0, (b.calls / top) * 100) : 0}%` }} />
      </span>
      <span class="spread-from" aria-hidden="true">{text(b.from, 's')}</span>
    </li>
  )
}

/** What it does besides taking time. */
function Work({ c }: { c: Class }) {
  const least = c.sampled ? 'at least ' : ''
  const rows: [string, number | undefined, string, string][] = [
    ['Total time', c.time_sec, 's', ''],
    ['Lock wait time', c.lock_sec, 's', text(per(c.lock_sec, c.time_sec), 'ratio')],
    ['CPU time', c.cpu_sec, 's', text(per(c.cpu_sec, c.time_sec), 'ratio')],
    ['Rows examined', c.rows_examined, '', `${least}${text(per(c.rows_examined, c.count), '')} per call`],
    ['Rows sent', c.rows_sent, '', `${least}${text(per(c.rows_sent, c.count), '')} per call`],
    ['Rows affected', c.rows_affected, '', `${text(per(c.rows_affected, c.count), '')} per call`],
    ['Scanned the first table', c.full_scans, '', text(per(c.full_scans, c.count), 'ratio') + ' of calls'],
    ['Joined without an index', c.full_joins, '', text(per(c.full_joins, c.count), 'ratio') + ' of calls'],
    ['Used no index', c.no_index, '', text(per(c.no_index, c.count), 'ratio') + ' of calls'],
    ['Rows sorted', c.sort_rows, '', `${text(per(c.sort_rows, c.count), '')} per call`],
    ['Temporary tables', c.tmp_tables, '', `${text(per(c.tmp_tables, c.count), '')} per call`],
    ['… on disk', c.tmp_disk_tables, '', `${text(per(c.tmp_disk_tables, c.count), '')} per call`],
  ]
  const known = rows.filter((r) => r[1] !== undefined)
  const missing = rows.filter((r) => r[1] === undefined).map((r) => r[0].toLowerCase())
  return (
    <section class="section">
      <h2>Statistics</h2>
      <table class="work">
        <tbody>
          {known.map(([name, v, unit, each]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="num">{text(v, unit)}</td>
              <td class="num dim">{v === 0 ? '' : each}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {missing.length > 0 && <p class="faint">Not reported by its source: {missing.join(', ')}.</p>}
    </section>
  )
}

import { useMemo } from 'preact/hooks'
import { count, get, go, moment, route, setParams, text, useData, useGet, useParam, useRange,
  withParams } from '../../core'
import { Badge, Bar, Button, Empty, Figure, Menu, Notice, Num, Search, Show, Spark, Table, safe,
  type Column } from '../../kit'
import { covered, find, howMany, per, rowOf, type Row } from './figures'
import type { ClassAnyList as ClassList, ClassRow as Class } from '../../core/openapi.gen'

/** A statement in one line for a cell. */
export function oneLine(sql: string, most = 400): string {
  return safe(sql.slice(0, most)).replace(/\s+/g, ' ').trim()
}

export function Estimated() {
  return (
    <Badge tone="unknown" icon="info"
      title={'Estimated from 10 samples per second: short statements are missed, counts are lower bounds, means ' +
        'are unknown.'}>
      estimated
    </Badge>
  )
}

/** A load; what is less than a thousandth of a session is not shown with more digits. */
export function Load({ v }: { v: number | undefined }) {
  return v !== undefined && v > 0 && v < 0.0005 ? <span class="faint nowrap">&lt; 0.001</span> : <Num v={v} unit="" />
}

const share = (a: number | undefined, b: number) => per(a, b)

/** Columns that can be added. */
const more: { key: string; name: string; title: string; unit: string; seen?: boolean; of: (r: Row) =>
  number | undefined }[] = [ // seen: of samples, what running statements had done by then
  { key: 'count', name: 'Calls', title: 'executions in the window', unit: '', seen: true, of: (r) => r.c.count },
  { key: 'max', name: 'Longest', title: 'the longest execution', unit: 's', of: (r) => r.c.max_sec },
  { key: 'total', name: 'Time', title: 'sum of the time of all executions', unit: 's', of: (r) => r.c.time_sec },
  { key: 'lock', name: 'Lock share', title: 'share of its time spent waiting for locks', unit: 'ratio',
    of: (r) => share(r.c.lock_sec, r.c.time_sec) },
  { key: 'cpu', name: 'CPU share', title: 'share of its time spent on a CPU', unit: 'ratio',
    of: (r) => share(r.c.cpu_sec, r.c.time_sec) },
  { key: 'examined', name: 'Examined/call', title: 'rows examined per execution', unit: '', seen: true,
    of: (r) => r.examined },
  { key: 'sent', name: 'Sent/call', title: 'rows sent per execution', unit: '', seen: true,
    of: (r) => share(r.c.rows_sent, r.c.count) },
  { key: 'affected', name: 'Affected/call', title: 'rows inserted, changed or deleted per execution', unit: '',
    of: (r) => share(r.c.rows_affected, r.c.count) },
  { key: 'scans', name: 'Full scans', title: 'share of executions that scanned the first table', unit: 'ratio',
    of: (r) => share(r.c.full_scans, r.c.count) },
  { key: 'noindex', name: 'No index', title: 'share of executions that used no index', unit: 'ratio',
    of: (r) => share(r.c.no_index, r.c.count) },
  { key: 'disk', name: 'Disk tables', title: 'temporary tables on disk per execution', unit: '',
    of: (r) => share(r.c.tmp_disk_tables, r.c.count) },
  { key: 'sorted', name: 'Sorted/call', title: 'rows sorted per execution', unit: '',
    of: (r) => share(r.c.sort_rows, r.c.count) },
]

/** Says once, above the list, that figures are estimates, and what makes them exact. */
function Sampled({ target, all }: { target: string; all: boolean }) {
  const source = useGet('state', { target }).value?.sources?.find((x) => x.name === 'digests')
  return (
    <Notice tone="info">
      {all ? 'Loads and shares are estimated'
        : 'Loads and shares of classes with ≥ before their calls are estimated'} from 10 samples per second: short
        statements are missed, and calls and rows per call are lower bounds.{' '}
      {source?.fix && <>{safe(source.reason ?? '')}. Fix: <code>{safe(source.fix)}</code></>}
    </Notice>
  )
}

function rowsOf(list: ClassList | undefined): Row[] {
  return list?.classes.map((c) => rowOf(c, list.coverage)) ?? []
}

export function List({ target }: { target: string }) {
  const [range] = useRange()
  const [q] = useParam('q')
  const [top, setTop] = useParam('top', '200')
  const [cols, setCols] = useParam('cols')
  const limit = Math.min(1000, Math.max(1, Number(top) || 200))
  const data = useData<ClassList>(`classes\n${target}\n${range.key}\n${limit}`,
    (signal) => get('classes', { target, from: Math.floor(range.from), to: Math.ceil(range.to), limit, lines: true },
      signal),
    { every: range.live ? 15_000 : 0, keep: true })
  const total = data.value ? (data.value.coverage.classes ?? data.value.classes.length) : 0
  // What was loaded is searched here and at once; where it is not all, the server searches the others too.
  const search = total > (data.value?.classes.length ?? 0) ? q.trim() : ''
  const hits = useData<ClassList>(search === '' ? null : `classes\n${target}\n${range.key}\n${limit}\n${search}`,
    (signal) =>
      get('classes', { target, from: Math.floor(range.from), to: Math.ceil(range.to), limit, search, lines: true },
      signal),
    { every: range.live ? 15_000 : 0 })
  const rows = useMemo(() => rowsOf(data.value), [data.value])
  const shown = useMemo(() => (hits.value ? rowsOf(hits.value) : find(rows, q)), [hits.value, rows, q])
  const heads = useMemo(() => columns(cols.split(','), rows), [cols, rows])
  const empty = data.value !== undefined && data.value.coverage.observed_seconds === 0
  const left = hits.value ? '' : search === '' ? ''
    : hits.error ? `Only the top ${rows.length} classes by time were searched.`
    : `The top ${rows.length} classes by time were searched; searching the others.`
  // The window moves each second, the rows do not: they are redrawn when they, or the address that their links keep,
  // change.
  const here = route.value
  const table = useMemo(
    () => (
      <Table label="Query classes" columns={heads} rows={shown} rowKey={(r) => r.key}
        onOpen={(r) => go(withParams({ class: r.c.id }))} sortParam="sort" sort="-load"
        empty={q !== '' ? <Empty icon="search" title="No class matches" hint={left || undefined} />
          : <Empty icon="queries" title="No statements"
          hint="The server was watched, but only Dyno’s own statements ended in that time." />} />
    ),
    [heads, shown, q, left, here])
  return (
    <>
      {empty ? <Beginning target={target} live={range.live} /> : (
        <Show of={data} lines={10} what="Query classes">
          {(v) => {
            const cover = v.coverage
            const part = covered(range.to - range.from, cover, range.live)
            const sampled = v.classes.some((c) => c.sampled)
            const statements = cover.statements_per_second ?? per(cover.count, cover.observed_seconds)
            return (
              <>
                {sampled && <Sampled target={target} all={v.classes.every((c) => c.sampled)} />}
                <div class="figures">
                  <Figure label="Load" value={per(cover.time_sec, cover.observed_seconds)} unit=""
                    note="active sessions on average"
                    title="statement time per second: average number of statements running at once" />
                  <Figure label="Statements" value={statements} unit="/s"
                    note={cover.statements_per_second === undefined ? `${count(cover.count)} in total`
                    : 'counted by the server'} />
                  <Figure label="Mean time" value={per(per(cover.time_sec, cover.observed_seconds), statements)}
                    unit="s" note={sampled ? 'estimated' : 'per statement'}
                    title={sampled ? 'the sampled load, divided by the statements that the server counted'
                    : 'statement time divided by statements'} />
                  <Figure label="Classes" value={total} unit="" note={range.text} />
                  <div class={`coverage ${part?.little ? 'tone-warn' : 'faint'}`}>
                    {part ? part.text : `at most ${range.live ? '2 min were' : '1 min was'} not observed`}
                    {part && <span class="faint">; rates are over observed time</span>}
                  </div>
                </div>
                <div class="filters">
                  <Search label="Find a class" placeholder="statement, id, database" />
                  <Columns added={cols.split(',')} set={setCols} />
                  <span class="faint grow num">
                    {howMany(shown.length, v.classes.length, total, q, search === '' ? undefined : hits)}</span>
                  {(hits.value ? (hits.value.found ?? 0) > shown.length : total > v.classes.length) && limit < 1000 && (
                    <Button small onClick={() => setTop('1000')}>
                      Show {Math.min(1000, hits.value?.found ?? total)}
                    </Button>
                  )}
                </div>
                {table}
              </>
            )
          }}
        </Show>
      )}
    </>
  )
}

function columns(added: string[], all: Row[]): Column<Row>[] {
  const errors = all.some((r) => (r.c.errors ?? 0) > 0)
  const p95 = all.some((r) => r.c.p95_sec !== undefined)
  const many = new Set(all.map((r) => r.c.schema ?? '')).size > 2
  const out: Column<Row>[] = [
    {
      key: 'load', head: 'Load', align: 'right', value: (r) => r.load,
        title: 'statement time per second: average number of its statements running at once', width: 70,
      cell: (r) => <b><Load v={r.load} /></b>,
    },
    { key: 'share', head: 'Share', value: (r) => r.share, first: 'down', title: 'share of the time of all classes',
      width: 116, cell: (r) => <span class="row nowrap"><Bar share={r.share} width={56} /> <span class="share-text">
      {r.share !== undefined && r.share > 0 && r.share < 0.001 ? '< 0.1%' : text(r.share, 'ratio')}</span></span> },
    { key: 'line', head: 'Trend', title: 'load over the window; gaps were not observed', width: 112,
      cell: (r) => (r.c.line ? <Spark values={r.c.line.values} label="load" width={96} height={20} />
      : <span class="faint">–</span>) },
    {
      key: 'statement', head: 'Statement', lead: true, value: (r) => r.c.fingerprint, class: 'statement',
      cell: (r) => (
        <>
          {many && r.c.schema && <span class="faint">{safe(r.c.schema)} </span>}
          <a class="mono" href={withParams({ class: r.c.id })}>{oneLine(r.c.fingerprint) || r.c.id}</a>
        </>
      ),
    },
    { key: 'rate', head: 'Calls/s', align: 'right', value: (r) => r.perSec,
      cell: (r) => <span class="nowrap">{r.c.sampled ? '≥ ' : ''}<Num v={r.perSec} unit="" /></span> },
    { key: 'mean', head: 'Mean', align: 'right', value: (r) => r.mean, title: 'time per execution',
      cell: (r) => <Num v={r.mean} unit="s" /> },
    { key: 'persent', head: 'Examined/sent', align: 'right', value: (r) => r.perSent,
      title: 'rows examined per row sent; much more than 1 means wasted work',
      cell: (r) => <Num v={r.perSent} unit="" /> },
  ]
  if (p95)
    out.push({ key: 'p95', head: 'p95', align: 'right', value: (r) => r.c.p95_sec,
      title: '95th percentile of execution time. Available where the server keeps a distribution and the window ' +
        'is one reading: percentiles cannot be combined.', cell: (r) => <Num v={r.c.p95_sec} unit="s" /> })
  if (errors)
    out.push({ key: 'errors', head: 'Errors/s', align: 'right', value: (r) => r.errors,
      cell: (r) => ((r.errors ?? 0) > 0 ? <span class="tone-bad"><Num v={r.errors} unit="" /></span>
      : <span class="faint"><Num v={r.errors} unit="" /></span>) })
  for (const m of more)
    if (added.includes(m.key))
      out.push({ key: m.key, head: m.name, align: 'right', value: m.of, title: m.title,
      cell: (r) => <span class="nowrap">{r.c.sampled && m.seen && m.of(r) !== undefined ? '≥ ' : ''}
      <Num v={m.of(r)} unit={m.unit} /></span> })
  return out
}

function Columns({ added, set }: { added: string[]; set: (v: string | null) => void }) {
  const n = more.filter((m) => added.includes(m.key)).length
  return (
    <Menu label="Columns" icon="table" text={n === 0 ? 'Columns' : `Columns +${n}`}>
      {() => (
        <div class="stack columns" role="group" aria-label="More columns">
          {more.map((m) => (
            <label key={m.key} class="check" title={m.title}>
              <input type="checkbox" checked={added.includes(m.key)} onChange={(e) => {
                  const next = more.filter((x) => (x.key === m.key ? e.currentTarget.checked : added.includes(x.key)))
                    .map((x) => x.key)
                  set(next.length === 0 ? null : next.join(','))
                }} />
              {m.name} <span class="faint">{m.title}</span>
            </label>
          ))}
        </div>
      )}
    </Menu>
  )
}

/** No minute was kept of this window. For the present, the last seconds are shown all the same. */
function Beginning({ target, live }: { target: string; live: boolean }) {
  const data = useGet(live ? 'state' : null, { target }, { every: 2000 })
  const s = data.value
  const gone = s?.sources?.find((x) => x.name === 'digests' || x.name === 'statement_samples')
  if (!live || !s?.classes?.length)
    return (
      <Empty icon="queries" title={live ? 'No query data yet' : 'No query data for this time range'} hint={
          <>
            <p>
              {live
                ? 'Dyno aggregates statements by the minute. The first minute appears here when it is complete.'
                : 'The server was not watched then, or the data has expired: minutes are kept for some days, ' +
                  'hours and days for about a year.'}
            </p>
            {gone && <p>{gone.name}: {gone.reason} {gone.fix && <code>{gone.fix}</code>}</p>}
          </>
        }
        action={
          !live && (
            <div class="choices">
              <Button onClick={() => setParams({ from: '-24h', to: null })}>Last 24 h</Button>
              <Button onClick={() => setParams({ from: '-30d', to: null })}>Last 30 d</Button>
            </div>
          )
        } />
    )
  const sec = s.class_seconds ?? 0
  const sum = s.classes.reduce((a, c) => a + c.load, 0)
  const rows: Row[] = s.classes.map((c) => {
    const full: Class = { id: c.id, fingerprint: c.fingerprint, origin: '', count: 0, time_sec: c.load * sec,
      ...(c.schema ? { schema: c.schema } : {}), ...(c.sampled ? { sampled: true } : {}) }
    return { key: c.id + (c.schema ?? ''), c: full, share: per(c.load, sum), load: c.load, perSec: c.per_second,
      mean: c.mean_sec, examined: c.examined_per_call, perSent: undefined, errors: c.errors_per_second }
  })
  return (
    <>
      <Notice tone="info">
        The first minute is not complete yet. These are the {rows.length} classes of the last {text(sec, 's')}
          , as of {moment(Date.parse(s.at) / 1000, { seconds: true })}.
      </Notice>
      <Table label="Query classes of the last seconds"
        columns={columns([], rows).filter((c) => !['line', 'p95', 'persent'].includes(c.key))} rows={rows}
        rowKey={(r) => r.key} onOpen={(r) => go(withParams({ class: r.c.id }))} sortParam="sort" sort="-load" />
    </>
  )
}

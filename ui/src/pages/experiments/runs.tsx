// Runs of loads, and the reports that are on record.
import { count, figure, go, href, moment, route, seconds, span, text, useGet } from '../../core'
import { Badge, Crumb, Empty, Figure, Fold, Notice, Num, Page, Panel, ReportLink, safe, Show, Table,
  type Tone } from '../../kit'
import { Plot } from '../../graph'
import { Facts, TextRows } from './texttable'
import type { LabLatency as Latency, LabRun as RunLine, LabRunDetail as Run } from '../../core/openapi.gen'

const tones: Record<string, Tone> = { done: 'good', running: 'info', stopped: 'warn', failed: 'bad' }

function RunState({ r }: { r: RunLine }) {
  return r.invalid ? <Badge tone="warn" title={r.invalid}>invalid</Badge>
    : <Badge tone={tones[r.state] ?? 'unknown'}>{r.state}</Badge>
}

export function Runs() {
  const target = route.value.params.get('target') ?? ''
  const data = useGet('runs', { limit: 300 }, { every: 5000 })
  return (
    <Show of={data} lines={6} what="Load runs" empty={(v) => v.runs.length === 0} none={
        <Empty icon="experiments" title="No load runs yet" hint={
            <>
              <p>Load runs are stored here with per-second figures, latencies and errors:</p>
              <p><code>dyno load oltp_read_write prepare --target {target || 'sandbox:x'}</code></p>
              <p><code>dyno load oltp_read_write run --target {target || 'sandbox:x'} --threads 4 --time 60</code></p>
            </>
          } />
      }>
      {(v) => (
        <Table label="Load runs" rows={v.runs} rowKey={(r) => r.id}
          onOpen={(r) => go(href('experiments', { id: r.id }, ['target']))} sortParam="runs" columns={[
            { key: 'id', head: 'Run',
              cell: (r) => <a class="nowrap" href={href('experiments', { id: r.id }, ['target'])}>{r.id}</a> },
            { key: 'state', head: 'State', cell: (r) => <RunState r={r} /> },
            { key: 'workload', head: 'Workload', value: (r) => r.workload, cell: (r) => safe(r.workload) },
            { key: 'target', head: 'Target', value: (r) => r.target,
              cell: (r) => <span class="cut lab-run-target" title={safe(r.target)}>{safe(r.target)}</span> },
            { key: 'started', head: 'Started', value: (r) => r.started, first: 'down',
              cell: (r) => <span class="nowrap">{moment(seconds(r.started), { date: true, seconds: false })}</span> },
            { key: 'seconds', head: 'Duration', align: 'right', value: (r) => r.seconds,
              cell: (r) => <span class="nowrap">{span(r.seconds)}</span> },
            { key: 'sessions', head: 'Sessions', align: 'right', value: (r) => r.sessions, cell: (r) => r.sessions },
            { key: 'tps', head: 'Operations/s', align: 'right', value: (r) => r.operations_per_second,
              cell: (r) => figure(r.operations_per_second, '').value },
            { key: 'p95', head: 'p95', align: 'right', value: (r) => r.p95_seconds,
              cell: (r) => <Num v={r.p95_seconds} unit="s" /> },
            { key: 'errors', head: 'Errors', align: 'right', value: (r) => r.errors,
              cell: (r) => (r.errors > 0 ? <span class="tone-bad">{count(r.errors)}</span> : '0') },
          ]} />
      )}
    </Show>
  )
}

export function RunPage({ id }: { id: string }) {
  const data = useGet('run', { id }, { every: (v) => (v?.state === 'running' ? 5000 : 0) })
  return (
    <Page title={`Load run ${id}`} actions={data.value && <ReportLink button id={id}>Report</ReportLink>}>
      <Crumb href={href('experiments', { tab: 'runs' }, ['target'])}>All runs</Crumb>
      {data.error?.status === 404 ? (
        <Empty icon="experiments" title={`No run has the id ${safe(id)}`}
          hint="It was removed, or the link comes from another Dyno."
          action={<a class="button b-main" href={href('experiments', { tab: 'runs' }, [])}>All runs</a>} />
      ) : <Show of={data} lines={8} what={`Run ${id}`}>{(r) => <OneRun r={r} />}</Show>}
    </Page>
  )
}

const which: Record<Latency['which'], string> = {
  service: 'from the first statement to the last response',
  response: 'from the time it was due',
  corrected: 'estimated: as if operations had arrived at the mean rate, regardless of the server',
}

function OneRun({ r }: { r: Run }) {
  const main = r.latencies.find((l) => l.which === 'response' && !l.statement) ??
    r.latencies.find((l) => l.of === 'all operations' && l.which === 'service') ?? r.latencies[0]
  const codes = Object.entries(r.errors_by_code).sort((a, b) => b[1] - a[1])
  return (
    <>
      <header class="lab-head">
        <h2 class="lab-question">{safe(r.title)}</h2>
        <p class="lab-meta">
          <RunState r={r} />
          <span>{moment(seconds(r.started), { date: true, seconds: true })}</span>
          <span>ran for {span(r.seconds)}</span>
          <span>{r.sessions} {r.sessions === 1 ? 'session' : 'sessions'}</span>
          {r.client && <span>load generator: {r.client}</span>}
        </p>
      </header>
      {r.invalid && (
        <Notice tone="warn">
          <b>Invalid:</b> {safe(r.invalid)}. These figures are the client's, not the server's.
        </Notice>
      )}
      {r.error && <Notice tone="bad">{safe(r.error)}</Notice>}
      {r.warnings.map((w) => <Notice key={w} tone="info">{safe(w)}</Notice>)}
      <div class="lab-figures panel">
        <Figure label="Operations" value={r.operations_per_second} unit="/s" note={count(r.operations)} />
        <Figure label="Queries" value={r.seconds > 0 ? r.queries / r.seconds : null} unit="/s"
          note={`${count(r.reads)} reads, ${count(r.writes)} writes, ${count(r.others)} others`} />
        <Figure label="Median" value={main?.p50} unit="s" />
        <Figure label="p95" value={main?.p95} unit="s" />
        <Figure label="p99" value={main?.p99} unit="s" />
        <Figure label="Max" value={main?.max} unit="s" />
        <Figure label="Errors" value={r.errors} unit="" {...(r.errors > 0 ? { tone: 'bad' as const } : {})}
          note={r.reconnects > 0 ? `${r.reconnects} reconnects` : undefined} />
      </div>
      {r.charts.map((c) => (
        <figure key={c.title} class="lab-picture lab-wide">
          <figcaption><b>{c.title}</b> <span class="dim">{c.unit}</span></figcaption>
          {c.x.length < 2 ? (
            <p class="dim">No chart: per-second figures were not kept, or it ran for less than 2 s.</p>
          ) : (
            <Plot x={c.x} title={c.title} unit={c.unit === '1/s' ? '/s' : c.unit} height={170} sync="run"
              lines={c.lines.map(
                (l) =>
                ({ name: l.name, y: l.y,
                ...(l.lo && l.hi ? { band: [l.lo, l.hi] as [(number | null)[], (number | null)[]] } : {}) }))} />
          )}
        </figure>
      ))}
      <div class="lab-two lab-wide">
        <Panel title="Latencies">
          <div class="lab-grid-box lab-bare" tabIndex={0} role="region" aria-label="Latencies">
            <table class="lab-texts">
              <thead>
                <tr>
                  <th scope="col">of</th>
                  <th scope="col">measured</th>
                  {['count', 'min', 'median', 'mean', 'p95', 'p99', 'p99.9', 'max'].map((h) => (
                    <th key={h} scope="col" class="num">{h}</th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {r.latencies.map((l, i) => (
                  <tr key={i}>
                    <td>{l.statement ? `statement ${l.of}` : safe(l.of)}</td>
                    <td class="dim" title={which[l.which]}>{l.which}</td>
                    <td class="num">{count(l.count)}</td>
                    {[l.min, l.p50, l.mean, l.p95, l.p99, l.p999, l.max].map((v, k) => (
                      <td key={k} class="num"><Num v={v} unit="s" /></td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Panel>
        <Panel title="Arrivals and errors">
          <div class="body stack">
            {r.arrivals ? (
              <>
                <p>{r.arrivals.text}.</p>
                <dl class="lab-facts">
                  <div><dt>due</dt><dd>{count(r.arrivals.due)} ({text(r.arrivals.due_per_second, '/s')})</dd></div>
                  <div><dt>started</dt><dd>{count(r.arrivals.begun)}</dd></div>
                  <div>
                    <dt>never started</dt>
                    <dd class={r.arrivals.dropped > 0 ? 'tone-bad' : ''}>{count(r.arrivals.dropped)}</dd>
                  </div>
                </dl>
              </>
            ) : (
              <p class="dim">
                Closed loop: each session started its next operation when the previous one was done, so no operation
                was ever due.</p>
            )}
            {codes.length === 0 ? <p>No statement failed.</p> : (
              <TextRows table={{ title: 'Errors by code', left: 1, head: ['error', 'times'],
                rows: codes.map(([k, n]) => [k, count(n)]), note: r.errors_text }} />
            )}
            {r.given_up > 0 && <p>{count(r.given_up)} operations were given up.</p>}
            {r.fairness && (
              <p class="dim">
                Operations per session: {text(r.fairness.events, '')} ± {text(r.fairness.events_sd, '')}.
              </p>
            )}
          </div>
        </Panel>
      </div>
      <section class="section lab-more">
        <Fold head={`Workload options (${Object.keys(r.options).length})`}>
          {() => <Facts small of={Object.entries(r.options).map(([k, value]) => ({ name: '--' + k, value }))} />}</Fold>
      </section>
    </>
  )
}

export function Documents() {
  const data = useGet('documents', { limit: 300 })
  return (
    <Show of={data} lines={5} what="Reports" empty={(v) => v.documents.length === 0}
      none={<Empty icon="experiments" title="No reports yet"
        hint={<>A demo plants a fault on a private server, finds it, cures it and proves the gain: <code>dyno demo
      </code>. Proofs of changes appear here too.</>} />}>
      {(v) => (
        <Table label="Reports" rows={v.documents} rowKey={(d) => d.id}
          onOpen={(d) => go(href('experiments', { id: d.id }, ['target']))} sortParam="reports" columns={[
            { key: 'id', head: 'Report',
              cell: (d) => <a href={href('experiments', { id: d.id }, ['target'])}>{d.id}</a> },
            { key: 'kind', head: 'Kind', value: (d) => d.kind,
              cell: (d) => <Badge tone="unknown" icon={false}>{d.kind}</Badge> },
            { key: 'at', head: 'When', value: (d) => d.at, first: 'down',
              cell: (d) => <span class="nowrap">{moment(seconds(d.at), { date: true, seconds: false })}</span> },
            { key: 'target', head: 'Target', value: (d) => d.target, cell: (d) => safe(d.target ?? '') },
            { key: 'title', head: 'Summary',
              cell: (d) => <><b>{safe(d.title)}</b> <span class="dim">{safe(d.sentence ?? '')}</span></> },
          ]} />
      )}
    </Show>
  )
}

/** Any other report, in a frame of its own that may do nothing. */
interface Head { kind: string; title: string; sentence?: string; at: string }

export function DocumentPage({ id }: { id: string }) {
  const data = useGet('report', { id })
  const gone = data.error?.status === 404 || data.error?.status === 400
  return (
    <Page title={`Report ${id.slice(0, 24)}`}
      actions={data.value && <ReportLink button id={id}>Open in a new tab</ReportLink>}>
      <Crumb href={href('experiments', { tab: 'reports' }, ['target'])}>All reports</Crumb>
      {gone ? (
        <Empty icon="experiments" title={`Nothing here has the id ${safe(id.slice(0, 80))}`}
          hint="No experiment, run or report. It was removed, or the link comes from another Dyno."
          action={<a class="button b-main" href={href('experiments', {}, [])}>All experiments</a>} />
      ) : (
        <Show of={data} lines={8} what="Report">
          {(d) => (
            <>
              <header class="lab-head">
                <h2 class="lab-question">{safe(d.title)}</h2>
                <p class="lab-meta">
                  <Badge tone="unknown" icon={false}>{d.kind}</Badge>
                  <span>{moment(seconds(d.at), { date: true, seconds: false })}</span>
                </p>
                {d.sentence && <p class="lab-about">{safe(d.sentence)}</p>}
              </header>
              <Report id={id} d={d as unknown as Report} />
            </>
          )}
        </Show>
      )}
    </Page>
  )
}

interface Report extends Head {
  measures?: { name: string; title: string; unit: string; before?: number | null; after?: number
    | null; ratio?: { center: number; lo: number; hi: number; n: number } }[]
  verdict?: { result: string }
  charts?: { title: string; unit: string; lines: { name: string; points: { at: number; value: number }[] }[] }[]
  story?: { at: string; text: string; state?: string }[]
  change?: { text: string; sql: string; undo?: string; journal?: string }
  findings?: { id: string; title: string }[]
  warnings?: string[]
  commands?: { text: string; line: string }[]
}

/** What a report of a demo or a proof says, in short; the whole of it is one click away. */
function Report({ id, d }: { id: string; d: Report }) {
  const f = (v: number | null | undefined, u: string) => text(v, u === '1/s' ? '/s' : u)
  return (
    <>
      {d.measures && d.measures.length > 0 && (
        <section class="section">
          <h2>Before and after</h2>
          <TextRows table={{
              title: 'Before and after', left: 1, head: ['figure', 'before', 'after', 'ratio', 'interval'],
              rows: d.measures.map((m) => {
                const b = typeof m.before === 'number' ? m.before : null
                const a = typeof m.after === 'number' ? m.after : null
                const q = m.ratio && m.ratio.n > 0 ? m.ratio : null
                const plain = b !== null && a !== null && b > 0 ? a / b : null
                return [m.title || m.name, f(b, m.unit), f(a, m.unit), q ? '×' + q.center.toPrecision(3)
                  : plain === null ? '–' : '×' + plain.toPrecision(3), q
                  ? `${q.lo.toPrecision(3)}–${q.hi.toPrecision(3)}` : '']
              }),
            }} />
        </section>
      )}
      {d.change && (
        <section class="section">
          <h2>Change</h2>
          <p>{safe(d.change.text)}</p>
          <pre class="lab-plan" tabIndex={0}>{safe(d.change.sql)}</pre>
        </section>
      )}
      {(d.charts ?? []).map((c) => <DocumentChart key={c.title} c={c} />)}
      {d.story && d.story.length > 0 && (
        <section class="section">
          <h2>Events</h2>
          <ol class="lab-live-notes">
            {d.story.map((s, i) => (
              <li key={i}>
                <span class="faint">{moment(seconds(s.at), { seconds: true })}
                </span> {safe(s.text)} {s.state === 'failed' && <Badge tone="bad">failed</Badge>}
              </li>
            ))}
          </ol>
        </section>
      )}
      {(d.warnings ?? []).map((w) => <Notice key={w} tone="info">{safe(w)}</Notice>)}
      <p class="section"><ReportLink button id={id}>Full report</ReportLink></p>
    </>
  )
}

function DocumentChart({ c }: { c: NonNullable<Report['charts']>[number] }) {
  const times = [...new Set(c.lines.flatMap((l) => l.points.map((p) => p.at)))].sort((a, b) => a - b)
  if (times.length < 2) return null
  const at = new Map(times.map((t, i) => [t, i]))
  const lines = c.lines.map((l) => {
    const y: (number | null)[] = times.map(() => null)
    for (const p of l.points) y[at.get(p.at) ?? 0] = p.value
    return { name: l.name, y }
  })
  return (
    <figure class="lab-picture lab-wide">
      <figcaption><b>{c.title}</b> <span class="dim">{c.unit}</span></figcaption>
      <Plot x={times.map((t) => t / 1000)} title={c.title} unit={c.unit === '1/s' ? '/s' : c.unit} height={160}
        sync="report" lines={lines} />
    </figure>
  )
}

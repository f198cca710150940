// What Dyno itself costs: the watched server, and this machine.
import { span, text, useGet, useParam, useTarget } from '../../core'
import { Badge, Bar, Empty, Figure, Notice, Num, Page, Show, Table, safe, type Column } from '../../kit'
import { sum } from '../settings/keeping'
import { SourceState } from '../settings/sources'
import type { Price, Settings, Source } from '../../core/openapi.gen'
import { rowsOf, slowedBy, useOf, type Row } from './price'
import './overhead.css'

const spans = ['1m', '5m', '15m', '1h'] as const

export function OverheadPage() {
  const [target] = useTarget()
  return <Page title="Overhead" target><OfServer key={target} target={target} /></Page>
}

/** The cost of one target: another one starts from scratch, so that no figure appears under another's name. */
function OfServer({ target }: { target: string }) {
  const [chosen, choose] = useParam('span', '5m')
  const over = (spans as readonly string[]).includes(chosen) ? chosen : '5m'
  const price = useGet('cost', { target, span: over }, { every: 5000, keep: true })
  const sources = useGet('sources', { target }, { every: 10000, keep: true })
  const settings = useGet('settings', {}, { every: 15000 })
  return (
    <div class="stack loose">
      <section class="stack">
        <header class="row wrap">
          <h2 class="grow">Overhead on {safe(target)}</h2>
          <span class="segments" role="group" aria-label="Mean over">
            {spans.map((x) => (
              <button key={x} type="button" class="button small" aria-pressed={x === over} onClick={() => choose(x)}>
                {x}
              </button>
            ))}
          </span>
        </header>
        <Show of={price} lines={6} what="Overhead">
          {(p) => <PriceOf p={p} sources={sources.value?.sources ?? []} />}
        </Show>
      </section>
      <section class="stack">
        <h2>Dyno on this machine</h2>
        <Show of={settings} lines={2} what="Process">{(s) => <Own s={s} />}</Show>
      </section>
    </div>
  )
}

const columns: Column<Row>[] = [
  {
    key: 'source', head: 'Source', value: (r) => r.name,
    cell: (r) => (
      <div class="stack tight cost-source">
        <span class="mono">{r.name}</span>
        {r.about && <span class="faint cut" title={r.about}>{r.about}</span>}
      </div>
    ),
  },
  {
    key: 'server', head: 'Server time per second', align: 'right', value: (r) => r.server,
    cell: (r) => (
      <span class="share-cell">
        <Bar share={r.share} label={`${r.name}, share of Dyno's server time`} />
        <Num v={r.server} unit="s" />
      </span>
    ),
    title: "wall-clock time of Dyno's statements on the server, each second",
  },
  { key: 'budget', head: '% of budget', align: 'right', value: (r) => useOf(r), cell: (r) => <Budget r={r} />,
    title: 'a source over its budget is read less often' },
  {
    key: 'mean', head: 'Read time', align: 'right', value: (r) => r.mean,
    cell: (r) => (
      <div class="stack tight">
        <Num v={r.mean} unit="ms" />
        {r.low !== undefined && r.high !== undefined &&
          <span class="faint interval nowrap">{text(r.low, 'ms')} – {text(r.high, 'ms')}</span>}
      </div>
    ),
    title: 'mean, with its 95 % interval',
  },
  { key: 'every', head: 'Every', align: 'right', value: (r) => r.every, cell: (r) => <Num v={r.every} unit="s" /> },
  { key: 'n', head: 'Readings', align: 'right', value: (r) => r.readings,
    cell: (r) => (r.readings === undefined ? '–' : r.readings) },
  { key: 'bytes', head: 'Received', align: 'right', value: (r) => r.bytes,
    cell: (r) => <Num v={r.bytes} unit="B/s" /> },
  { key: 'state', head: 'State', cell: (r) => (r.state ? <SourceState s={r.state} /> : <span class="faint">–</span>) },
]

function Budget({ r }: { r: Row }) {
  const share = useOf(r)
  const slowed = slowedBy(r)
  if (share === undefined) return <span class="faint">–</span>
  return (
    <span class="share-cell">
      {slowed > 1 && (
        <Badge tone="warn" title="over its budget, so it is read less often">1 read in {slowed}</Badge>
      )}
      <span class="stack tight">
        <Num v={share} unit="ratio" />
        <span class="faint interval nowrap">of {text(r.budget, 's')}</span>
      </span>
    </span>
  )
}

function PriceOf({ p, sources }: { p: Price; sources: Source[] }) {
  const rows = rowsOf(p, sources)
  const seen = (Date.parse(p.to) - Date.parse(p.from)) / 1000
  const measured = p.server_seconds_per_second !== undefined
  const over = rows.filter((r) => (useOf(r) ?? 0) > 1)
  return (
    <div class="stack">
      {!measured && (
        <Notice tone="unknown">
          Not measured in this time range: at least two readings are needed. The overhead is unknown, not zero.</Notice>
      )}
      <div class="figures">
        <Figure label="Server time per second" value={p.server_seconds_per_second} unit="s"
          note={measured ? undefined : 'not measured'} />
        <Figure label="Client CPU" value={p.client_cpu_cores} unit="cores"
          note={p.client_cpu_cores === undefined ? 'not measured' : "Dyno's own, for this target"} />
        <Figure label="Statements" value={p.statements_per_second} unit="/s" />
        <Figure label="Received" value={p.bytes_per_second} unit="B/s" />
        <Figure label="Rows" value={p.rows_per_second} unit="/s" />
        <Figure label="Series" value={p.series} unit="" note="live" />
      </div>
      <p class="dim">
        Mean over the last {span(seen)}. {measured && over.length === 0 && 'All sources are within budget.'}
        {over.length > 0 &&
          (`Over budget on average: ${over.map((r) => r.name).join(', ')}. A source is slowed when its fastest of ` +
            'five reads exceeds the budget; slower reads may include CPU waits.')}
      </p>
      <Table columns={columns} rows={rows} rowKey={(r) => r.name} label="Overhead by source" sortParam="by"
        sort="-server" empty={<Empty title="No source was read in this time range" />} />
    </div>
  )
}

function Own({ s }: { s: Settings }) {
  const cores = s.process.cpu_seconds !== undefined && s.process.uptime_seconds > 0
    ? s.process.cpu_seconds / s.process.uptime_seconds : undefined
  const disk = sum(s.keeping.map((k) => k.bytes))
  const day = sum(s.keeping.map((k) => k.growth_bytes_per_day))
  return (
    <div class="figures">
      <Figure label="Memory" value={s.process.memory_bytes} unit="B" note="resident, all targets" />
      <Figure label="CPU" value={cores} unit="cores" note={`mean of ${span(s.process.uptime_seconds)}`} />
      <Figure label="Disk" value={disk} unit="B"
        note={day === undefined ? 'growth: available after 1 h' : `${text(day, 'B')}/day`} />
      <Figure label="Free on the disk" value={s.disk.free_bytes} unit="B"
        note={`of ${text(s.disk.total_bytes, 'B')}`} />
    </div>
  )
}

export default OverheadPage

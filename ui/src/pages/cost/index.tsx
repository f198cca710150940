// What Dyno itself costs: the watched server, and this machine.
import { useGet } from '../../core/data'
import { text } from '../../core/format'
import { useTarget } from '../../core/targets'
import { span } from '../../core/time'
import { useParam } from '../../core/url'
import { Badge, Bar, Empty, Figure, Notice, Num, Page, Show, Table, safe, type Column } from '../../ui'
import { sum } from '../settings/keeping'
import { SourceState } from '../settings/sources'
import type { Settings, Source } from '../settings/types'
import { rowsOf, slowedBy, useOf, type Price, type Row } from './price'
import './cost.css'

const spans = ['1m', '5m', '15m', '1h'] as const

export function CostPage() {
  const [target] = useTarget()
  return (
    <Page title="Cost" target>
      <OfServer key={target} target={target} />
    </Page>
  )
}

/** The cost of one target: another one begins anew, so that no figure stands under another's name. */
function OfServer({ target }: { target: string }) {
  const [chosen, choose] = useParam('span', '5m')
  const over = (spans as readonly string[]).includes(chosen) ? chosen : '5m'
  const price = useGet<Price>('cost', { target, span: over }, { every: 5000, keep: true })
  const sources = useGet<{ sources: Source[] }>('sources', { target }, { every: 10000, keep: true })
  const settings = useGet<Settings>('settings', {}, { every: 15000 })
  return (
    <div class="stack loose">
      <section class="stack">
        <header class="row wrap">
          <h2 class="grow">What watching costs {safe(target)}</h2>
          <span class="segments" role="group" aria-label="Mean over">
            {spans.map((x) => (
              <button key={x} type="button" class="button small" aria-pressed={x === over} onClick={() => choose(x)}>
                {x}
              </button>
            ))}
          </span>
        </header>
        <Show of={price} lines={6} what="The cost">
          {(p) => <PriceOf p={p} sources={sources.value?.sources ?? []} />}
        </Show>
      </section>
      <section class="stack">
        <h2>What Dyno takes of this machine</h2>
        <Show of={settings} lines={2} what="The process">
          {(s) => <Own s={s} />}
        </Show>
      </section>
    </div>
  )
}

const columns: Column<Row>[] = [
  {
    key: 'source',
    head: 'Source',
    value: (r) => r.name,
    cell: (r) => (
      <div class="stack tight cost-source">
        <span class="mono">{r.name}</span>
        {r.about && (
          <span class="faint cut" title={r.about}>
            {r.about}
          </span>
        )}
      </div>
    ),
  },
  {
    key: 'server',
    head: 'Server time, a second',
    align: 'right',
    value: (r) => r.server,
    cell: (r) => (
      <span class="share-cell">
        <Bar share={r.share} label={`${r.name}, share of Dyno's server time`} />
        <Num v={r.server} unit="s" />
      </span>
    ),
    title: "wall-clock time of Dyno's statements on the server, each second",
  },
  { key: 'budget', head: 'Of its budget', align: 'right', value: (r) => useOf(r), cell: (r) => <Budget r={r} />, title: 'what takes more than its budget is read less often' },
  {
    key: 'mean',
    head: 'A reading takes',
    align: 'right',
    value: (r) => r.mean,
    cell: (r) => (
      <div class="stack tight">
        <Num v={r.mean} unit="ms" />
        {r.low !== undefined && r.high !== undefined && <span class="faint interval nowrap">{text(r.low, 'ms')} – {text(r.high, 'ms')}</span>}
      </div>
    ),
    title: 'mean, with its 95 % interval',
  },
  { key: 'every', head: 'Every', align: 'right', value: (r) => r.every, cell: (r) => <Num v={r.every} unit="s" /> },
  { key: 'n', head: 'Readings', align: 'right', value: (r) => r.readings, cell: (r) => (r.readings === undefined ? '–' : r.readings) },
  { key: 'bytes', head: 'Received', align: 'right', value: (r) => r.bytes, cell: (r) => <Num v={r.bytes} unit="B/s" /> },
  { key: 'state', head: 'State', cell: (r) => (r.state ? <SourceState s={r.state} /> : <span class="faint">–</span>) },
]

function Budget({ r }: { r: Row }) {
  const share = useOf(r)
  const slowed = slowedBy(r)
  if (share === undefined) return <span class="faint">–</span>
  return (
    <span class="share-cell">
      {slowed > 1 && (
        <Badge tone="warn" title="it took more than its budget, so it is read less often">
          every {slowed}th time
        </Badge>
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
        <Notice tone="unknown">Not measured in this time: what watching costs is told from two readings on. It is neither nothing nor much.</Notice>
      )}
      <div class="figures">
        <Figure label="Server time, a second" value={p.server_seconds_per_second} unit="s" note={measured ? `${text(p.server_seconds_per_second, 'ratio')} of one session's time` : 'not measured'} />
        <Figure label="CPU here" value={p.client_cpu_cores} unit="cores" note={p.client_cpu_cores === undefined ? 'not measured' : "Dyno's own, for this target"} />
        <Figure label="Statements" value={p.statements_per_second} unit="/s" />
        <Figure label="Received" value={p.bytes_per_second} unit="B/s" />
        <Figure label="Rows" value={p.rows_per_second} unit="/s" />
        <Figure label="Series" value={p.series} unit="" note="live" />
      </div>
      <p class="dim">
        Mean over the last {span(seen)}. {measured && over.length === 0 && 'Every source keeps its budget.'}
        {over.length > 0 && `Over its budget in the mean: ${over.map((r) => r.name).join(', ')}; what counts for reading less often is the quickest of the last five, for the others also waited for a CPU.`}
      </p>
      <Table columns={columns} rows={rows} rowKey={(r) => r.name} label="Cost by source" sortParam="by" sort="-server" empty={<Empty title="No source was read in this time" />} />
    </div>
  )
}

function Own({ s }: { s: Settings }) {
  const cores = s.process.cpu_seconds !== undefined && s.process.uptime_seconds > 0 ? s.process.cpu_seconds / s.process.uptime_seconds : undefined
  const disk = sum(s.keeping.map((k) => k.bytes))
  const day = sum(s.keeping.map((k) => k.growth_bytes_per_day))
  return (
    <div class="figures">
      <Figure label="Memory" value={s.process.memory_bytes} unit="B" note="resident, all targets" />
      <Figure label="CPU" value={cores} unit="cores" note={`mean of ${span(s.process.uptime_seconds)}`} />
      <Figure label="Disk" value={disk} unit="B" note={day === undefined ? 'growth: told after an hour' : `${text(day, 'B')} a day`} />
      <Figure label="Free on the disk" value={s.disk.free_bytes} unit="B" note={`of ${text(s.disk.total_bytes, 'B')}`} />
    </div>
  )
}

export default CostPage

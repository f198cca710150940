import { go, href } from '../../core'
import { Num, safe, Spark, Table, UpIcon, type Column } from '../../kit'
import { Incidents, Labels, Limited } from './card'
import { Finding } from './finding'
import { steady, trouble, type Row } from './rows'

const base: Column<Row>[] = [
  {
    key: 'name', head: 'Server', value: (r) => r.name,
    cell: (r) => (
      <div class="fleet-name">
        <UpIcon up={r.silent ? undefined : r.up} />
        <div class="grow">
          <a class="cut" href={href('overview', { target: r.name })}>{safe(r.name)}</a>
          <Limited row={r} />
          <span class="cut faint">{safe(r.server || (r.target.address ?? ''))}</span>
        </div>
      </div>
    ),
    class: 'fleet-first',
  },
  { key: 'running', head: 'Running', align: 'right', value: (r) => r.running,
    title: 'sessions running a statement now, of those connected',
    cell: (r) => (r.running === undefined ? <Num v={undefined} unit="" />
    : <span class="nowrap">{r.running}<span class="unit">/ {r.connected ?? '–'}</span></span>), width: 90 },
  { key: 'qps', head: 'Statements', align: 'right', value: steady, title: 'per second, now; sorted by the last 30 s',
    cell: (r) => <Num v={r.qps} unit="/s" />, width: 100 },
  { key: 'course', head: '15 min', cell: (r) => <Spark values={r.course ?? []} unit="/s" label="statements per second"
    width={110} height={22} />, title: 'statements per second over the last 15 minutes', width: 126,
    class: 'fleet-spark' },
  { key: 'latency', head: 'Mean time', align: 'right', value: (r) => r.latency,
    title: 'per statement, where the server reports it', cell: (r) => <Num v={r.latency} unit="s" />, width: 90 },
  { key: 'cpu', head: 'CPU', align: 'right', value: (r) => r.cpu,
    title: "of the server process, where Dyno runs on the server's machine",
    cell: (r) => <Num v={r.cpu} unit="cores" />, width: 100 },
]

export function FleetTable({ rows, judging }: { rows: Row[]; judging: boolean }) {
  const labelled = rows.some((r) => Object.keys(r.target.labels ?? {}).length > 0)
  const columns: Column<Row>[] = [
    ...base,
    {
      key: 'trouble', head: 'Worst finding', value: trouble, first: 'down', class: 'fleet-wide',
      cell: (r) =>
        r.up === false || r.barred ? (
          <div class="fleet-reason" title={[r.reason, r.fix].filter(Boolean).map(safe).join('\n')}>
            <span class={`cut tone-${r.barred ? 'warn' : 'bad'}`}>{safe(r.reason)}</span>
            {r.fix && <span class="cut dim">{safe(r.fix)}</span>}
          </div>
        ) : <><Incidents row={r} /><Finding row={r} judging={judging} /></>,
    },
  ]
  if (labelled)
    columns.push({ key: 'labels', head: 'Labels', cell: (r) => <Labels labels={r.target.labels} />,
    class: 'fleet-labels' })
  return <Table class="fleet-table" label="Servers" columns={columns} rows={rows} rowKey={(r) => r.name}
    onOpen={(r) => go(href('overview', { target: r.name }))} />
}

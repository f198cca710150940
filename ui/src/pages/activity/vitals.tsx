import { figure, isPostgres } from '../../core'
import { vital } from './state'
import type { State } from '../../core/openapi.gen'

interface Vital { n: string; label: string; unit: string; title: string; always?: boolean; worse?: 'up' }

const shown: Vital[] = [
  { n: 'threads_running', label: 'Running', unit: '',
    title: "Threads_running: sessions executing a statement, without Dyno's own; counted a few milliseconds before " +
      'the list of sessions is read', always: true },
  { n: 'threads_connected', label: 'Connected', unit: '', title: 'open connections, without Dyno’s own', always: true },
  { n: 'qps', label: 'Statements', unit: '/s', title: 'Questions per second', always: true },
  { n: 'tps', label: 'Transactions', unit: '/s', title: 'commits and rollbacks per second', always: true },
  { n: 'latency_seconds', label: 'Mean time', unit: 's',
    title: 'mean time per statement over the last seconds, from statement digests' },
  { n: 'server_cpu_cores', label: 'Server CPU', unit: 'cores', title: "CPU time of the server process per second" },
  { n: 'row_lock_waiting', label: 'Row locks', unit: '',
    title: 'sessions waiting for a row lock, as the server counts them; the list of locks is read a few ' +
      'milliseconds later', always: true },
  { n: 'history_length', label: 'History', unit: '', title: 'undo records not purged yet', always: true },
  { n: 'pool_misses_per_second', label: 'Pool misses', unit: '/s', title: 'pages read from disk into the buffer pool' },
  { n: 'disk_busy_ratio', label: 'Disk busy', unit: 'ratio', title: 'of the busiest disk of the host' },
  { n: 'replica_lag_seconds', label: 'Replica lag', unit: 's', title: 'of the worst channel' },
]

/** What is otherwise on PostgreSQL; null: it has no such figure. */
const postgres: Record<string, Partial<Vital> | null> = {
  threads_running: { title: 'sessions executing a statement, without Dyno’s own' },
  qps: { title: 'statements per second, as pg_stat_statements counts them' },
  latency_seconds: { title: 'mean time per statement over the last seconds, from pg_stat_statements' },
  row_lock_waiting: { title: 'sessions waiting for a row lock' },
  history_length: null,
  pool_misses_per_second: { label: 'Buffer misses',
    title: 'blocks that were not in shared_buffers; the system’s cache may have had them' },
  replica_lag_seconds: { title: 'of this standby' },
}

function shownOf(server: string | undefined): Vital[] {
  if (!isPostgres(server)) return shown
  return shown.filter((x) => postgres[x.n] !== null).map((x) => ({ ...x, ...postgres[x.n] }))
}

/** The headline figures of the second, with what they were a second before. */
export function VitalStrip({ state, before }: { state: State; before: State | undefined }) {
  return (
    <dl class="vitals" aria-label="Figures of this second">
      {shownOf(state.server).map((x) => {
        const v = of(state, x.n)
        if (v === undefined && !x.always) return null
        const f = figure(v, x.unit)
        const old = of(before, x.n)
        const d = old !== undefined && v !== undefined ? figure(Math.abs(v - old), x.unit) : undefined
        const hint = d && d.value !== '0' && worth(v ?? 0, old ?? 0)
          ? `${(v ?? 0) > (old ?? 0) ? '+' : '−'}${d.value}${d.unit === f.unit || d.unit === '' ? '' : ' ' + d.unit}`
          : ''
        return (
          <div key={x.n} class="vital" title={x.title + (v === undefined ? '; not observed' : '')}>
            <dt>{x.label}</dt>
            <dd>{f.value}{f.unit && <span class="unit">{f.unit}</span>}</dd>
            <dd class="was" title={hint ? 'change from the previous second' : undefined}>{hint || '\u00a0'}</dd>
          </div>
        )
      })}
    </dl>
  )
}

/** A figure of a state; connections are those that the list of sessions is of. */
function of(s: State | undefined, name: string): number | undefined {
  return (name === 'threads_connected' ? s?.connections : undefined) ?? vital(s, name)
}

/** Whether a change is more than the flicker of a rate. */
function worth(v: number, old: number): boolean {
  return Math.abs(v - old) > 0.02 * Math.max(Math.abs(v), Math.abs(old))
}

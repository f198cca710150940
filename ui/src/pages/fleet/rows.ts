// What the fleet page knows of each target, put together from four places.
import { newest, type Newest, type Vitals } from '../../core'
import type { DiagnosisSummary, TargetRow as Target } from '../../core/openapi.gen'

export interface Row extends Omit<Newest, 'v'> {
  name: string
  target: Target
  qps?: number | undefined
  running?: number | undefined
  connected?: number | undefined
  latency?: number | undefined // seconds
  cpu?: number | undefined // cores
  busy?: number | undefined // of the host's CPUs, 0..1
  course: (number | null)[] | undefined // of qps
  diagnosis: DiagnosisSummary | undefined // undefined: not judged yet
}

/**
 * Puts together what is known of a target at a moment. Figures of a server that is down, or of long ago, are not known.
 */
export function row(t: Target, v: Vitals | undefined, course: (number | null)[] | undefined,
  diagnosis: DiagnosisSummary | undefined, now: number): Row {
  const { v: x, ...n } = newest(t, v, now)
  return {
    name: t.name, target: t, ...n, course, diagnosis,
    qps: x['qps'], running: x['threads_running'], connected: x['threads_connected'], latency: x['latency_seconds'],
    cpu: x['server_cpu_cores'], busy: x['host_cpu_busy_ratio'],
  }
}

const ranks: Record<string, number> = { critical: 4, warning: 3, notice: 2, fact: 1 }

/** How much a target wants to be looked at: down before silent before findings by severity; what is well is 0. */
export function trouble(r: Row): number {
  if (r.up === false) return 10
  if (r.silent) return 9
  if (r.barred) return 8
  if ((r.target.incidents ?? []).length > 0) return 7
  if (r.up === undefined) return 0.5
  return ranks[r.diagnosis?.severity ?? ''] ?? 0
}

/** The statements a second of late: steadier than the last second, so that rows do not jump about. */
export function steady(r: Row): number | undefined {
  const last = r.course?.filter((v) => v !== null).slice(-2) ?? []
  if (r.up === false) return undefined
  return last.length > 0 ? last.reduce((a, b) => a + b, 0) / last.length : r.qps
}

/** What a filter lets through. */
export const filters: Record<string, (r: Row) => boolean> = {
  all: () => true,
  up: (r) => r.up === true,
  down: (r) => r.up !== true || r.silent,
  findings: (r) => (r.diagnosis?.count ?? 0) > 0,
}

/** Worst first; what is alike by load, then by name. */
export function byTrouble(a: Row, b: Row): number {
  return trouble(b) - trouble(a) || (b.diagnosis?.share ?? 0) - (a.diagnosis?.share ?? 0) ||
    a.name.localeCompare(b.name, 'en', { numeric: true })
}

import { isPostgres } from '../../core'
import type { Session, SourceSource as Source, State } from '../../core/openapi.gen'
// What `GET state` answers: a server at one moment. What is missing was not observed.

/** A vital by its name; undefined when it was not observed. */
export function vital(s: State | undefined, name: string): number | undefined {
  return s?.vitals?.find((v) => v.n === name)?.v
}

/** Why a source gave nothing; undefined when it did. */
export function lacking(s: State, ...names: string[]): Source | undefined {
  return s.sources?.find((x) => names.includes(x.name))
}

/** Why open transactions are not known: PostgreSQL's are read with its sessions. */
export function lackingTransactions(s: State): Source | undefined {
  return lacking(s, isPostgres(s.server) ? 'processlist' : 'transactions')
}

/** Whether a session only waits for its client, outside of a transaction and blocking no one. */
export function asleep(s: Session): boolean {
  return s.command === 'Sleep' || s.command === 'Daemon'
}

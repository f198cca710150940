// What `GET state` answers: a server at one moment. What is missing was not observed.

export interface Session {
  id: number
  user?: string
  host?: string
  db?: string
  command: string
  phase?: string
  wait?: string
  seconds: number
  sql?: string
  class?: string
  last_sql?: string // of an idle blocker: what it ran last
  examined?: number
  sent?: number
  memory?: number
  progress?: number
}

export interface Transaction {
  session: number
  id: string
  phase: string
  seconds: number
  rows_locked?: number
  rows_modified?: number
  read_only?: boolean
}

export interface Wait {
  kind: string
  waiter: number
  blocker?: number
  unknown?: string // with an unknown blocker: why
  object?: string
  mode?: string
  held?: string
  seconds?: number
}

export interface Source {
  name: string
  state: string
  reason?: string
  fix?: string
}

export interface State {
  target: string
  at: string
  up: boolean
  login_refused?: boolean
  reason?: string
  server?: string
  vitals?: { n: string; v: number }[]
  sessions?: Session[]
  connections?: number
  idle?: number
  waits?: Wait[]
  transactions?: Transaction[]
  innodb_status?: string
  sources?: Source[]
  left?: { sessions?: number; waits?: number; transactions?: number }
}

/** A vital by its name; undefined when it was not observed. */
export function vital(s: State | undefined, name: string): number | undefined {
  return s?.vitals?.find((v) => v.n === name)?.v
}

/** Why a source gave nothing; undefined when it did. */
export function lacking(s: State, ...names: string[]): Source | undefined {
  return s.sources?.find((x) => names.includes(x.name))
}

/** Whether a session only waits for its client, outside of a transaction and in nobody's way. */
export function asleep(s: Session): boolean {
  return s.command === 'Sleep' || s.command === 'Daemon'
}

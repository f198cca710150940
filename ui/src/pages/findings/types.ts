// What the API gives of judgements. What was not observed is missing.

export type Severity = 'critical' | 'warning' | 'notice' | 'info'

export interface Evidence {
  what: string
  value?: number
  unit?: string
  expected?: string
  source: string
  sampled?: boolean
  text: string
}

export interface TableRef {
  schema: string
  table: string
}

export interface Action {
  kind: string
  table?: TableRef
  variable?: string
  value?: string
  sql: string
  undo: string
}

export interface Finding {
  id: string
  rule: string
  severity: Severity
  confidence: 'certain' | 'likely' | 'possible'
  title: string
  cause: string
  subject?: { classes?: string[]; tables?: TableRef[]; columns?: string[]; variables?: string[]; sessions?: number[] }
  evidence: Evidence[] | null
  against?: string[]
  not_observable?: string[]
  falsify?: string
  suggestion: string
  cost?: string
  gain?: { what: string; lo: number; hi: number; text: string }
  action?: Action
  tested?: { result: string; what?: string; lo?: number; center?: number; hi?: number; n?: number; on?: string; text: string }
  share: number
  config?: string[]
  file?: string
  restart?: boolean
  valid?: string
  reference?: string
  merged?: string[]
  symptoms?: string[]
  why?: { ask: string; answer: string; source?: string }[]
}

export interface Symptom {
  id: string
  kind: string
  subject: string
  title: string
  evidence: Evidence[] | null
}

export interface Node {
  text: string
  then?: Node[]
}

export interface Verdict {
  id: string
  target: string
  at: string
  by?: string
  background?: boolean
  count: number
  worst?: string
  severity?: Severity
  share: number
  incident?: string // id of the event of the incident that started it
}

export interface QueryClass {
  id: string
  fingerprint: string
  schema?: string
  sampled?: boolean
  count: number
  time_sec: number
  rows_examined?: number
  rows_sent?: number
  rows_affected?: number
}

export interface TimeModel {
  seconds: number
  statement_seconds: number
  parts: { class?: string; text: string; seconds: number; share: number; count: number }[]
  figures: { name: string; unit: string; value?: number; limit?: number; why?: string }[]
}

export interface Judged extends Verdict {
  server: string
  sentence: string
  from: string
  to: string
  findings: Finding[]
  facts: Finding[] // advice that nothing measured suffers from yet
  symptoms: Symptom[]
  reasoning: Node[] | null
  time: TimeModel
  classes: Record<string, QueryClass>
  sources: { name: string; state: string; reason?: string; fix?: string }[]
  sources_looked_at: number
  trigger?: { at: string; until?: string; kind: string; text: string } // the incident that started it
}

export interface Findings {
  target: string
  every_seconds?: number
  diagnosis?: Judged
  history: Verdict[]
  diagnoses: number // in the hour before the newest one
  open: Open[]
  ignored: Open[]
  resolved: Resolved[]
}

/** When a finding was seen. */
export interface Life {
  first_seen: string
  last_seen: string
  seen_in: number
  of_diagnoses: number
  ignored?: { until: string; by?: string }
}

/** A finding as the newest diagnosis that saw it reports it. */
export interface Open extends Life {
  finding: Finding
  diagnosis: string
}

export interface Resolved {
  id: string
  title: string
  severity: Severity
  diagnosis: string
  first_seen: string
  last_seen: string
  change?: string
}

// What the lab's part of the API answers.

export interface Interval {
  center: number
  lo: number
  hi: number
  n: number
  confidence: number
}

export interface Tally {
  sign: string
  word: string
  n: number
}

export type LabState = 'running' | 'finished' | 'interrupted' | 'damaged'

export interface ExperimentLine {
  id: string
  kind: 'experiment' | 'side by side'
  name?: string
  title?: string
  recipe?: string
  scale?: string
  state: LabState
  started?: string
  ended?: string
  variants: number
  trials: number
  sentence?: string
  tally: Tally[] | null
  stopped?: string
  problem?: string
  task?: string
  pid?: number
  warnings?: string[]
}

export interface Fact {
  name: string
  value: string
}

export interface Value {
  name: string
  title: string
  head: string
  unit?: string
  better?: '' | 'more' | 'less'
  usual_n?: number
}

export interface CellFigure {
  value: string
  interval?: string
  n?: number
  ratio?: string
  bounds?: string
  ratio_n?: number
  note?: string
  at?: Interval
  of?: Interval
}

export interface Cell {
  row: number
  column: number
  variant: string
  label: string
  against?: string
  baseline?: boolean
  sign?: string
  word?: string
  figures: CellFigure[]
  texts?: Record<string, string>
  trials: number
  valid: number
  failed?: string
  reasons?: string[]
}

export interface Remark {
  sign?: string
  word?: string
  label?: string
  text?: string
  odd?: boolean
}

export interface SweepLine {
  name: string
  center: (number | null)[]
  lo: (number | null)[]
  hi: (number | null)[]
  n: number[]
}

export interface Sweep {
  title: string
  axis: string
  unit: string
  ratio?: boolean
  log?: boolean
  margin?: number
  x: number[]
  names: string[]
  lines: SweepLine[]
  absent: string[]
}

export interface Rung {
  head?: string
  label?: string
  sign?: string
  word?: string
  text?: string
  note?: string
  of?: Interval
}

export interface StripTrial {
  seq: number
  round: number
  seconds: number
  invalid?: string
  rates: number[]
}

export interface Strip {
  variant: string
  label: string
  control?: boolean
  top: number
  trials: StripTrial[]
}

export interface TextTable {
  title: string
  note?: string
  head: string[]
  left: number
  rows: string[][]
}

export interface Laid {
  title: string
  values: Value[]
  texts: Value[]
  row_axes: string[]
  column_axes: string[]
  rows: string[][]
  columns: string[][]
  cells: Cell[]
  reach: number
  legend: string[]
  tally: Tally[]
  control: Remark
  speed?: string
  remarks: Remark[]
  trials: string
  samples: string // what the n beside a ratio counts
  sweeps: Sweep[]
  rungs: Rung[]
  strips: Strip[]
  lists: TextTable[]
  published?: TextTable
  verdicts?: TextTable
  also_differs: Fact[]
  explained: Fact[]
  said: { name: string; for: string; text: string }[]
  environment: { name: string; facts: Fact[] }[]
  unread: string[]
  method: Fact[]
}

export interface Trial {
  seq: number
  round: number
  variant: string
  control?: boolean
  from: string
  to: string
  setup_seconds: number
  warm_seconds: number
  values: Record<string, number>
  errors?: Record<string, number>
  invalid?: string
  warnings?: string[]
}

export interface Live {
  task: string
  id?: string
  n: number
  most: number
  round: number
  variant?: string
  control?: boolean
  step?: string
  left_seconds?: number
}

export interface Experiment extends ExperimentLine {
  laid: Laid
  runs: Trial[]
  remarks: string[]
  plan_text: string
  about?: string
  axes?: Record<string, string[]>
  set?: Record<string, string>
  dyno?: string
  live?: Live
}

export interface Scale {
  scale: string
  variants: number
  rounds: [number, number]
  trials: [number, number]
  seconds: number
  least_seconds: number
  most_seconds: number
  budget_seconds?: number
  servers: string[]
  problem?: string
}

export interface Recipe {
  name: string
  title: string
  topic: string
  about?: string
  scales: Scale[]
  ran: { id: string; scale?: string; state: LabState }[]
}

export interface DryRun extends Recipe {
  text: string
  dry: Scale
  table: { key: string; against?: string }[]
  show: string[]
  published: string[]
  missing: string[]
  install: string[]
  needs: { servers: string[]; disk_bytes?: number; disk_free_bytes?: number; memory_bytes?: number; memory_free_bytes?: number }
  problems: string[]
  warnings: string[]
  disturbs: string[]
  disturb: string
}

export interface RunLine {
  id: string
  target: string
  workload: string
  state: string
  started: string
  seconds: number
  sessions: number
  operations_per_second: number
  p95_seconds?: number
  errors: number
  invalid?: string
}

export interface Latency {
  of: string
  which: 'service' | 'response' | 'corrected'
  statement?: boolean
  count: number
  min: number
  p50: number
  mean: number
  p95: number
  p99: number
  p999: number
  max: number
}

export interface Chart {
  title: string
  unit: string
  x: number[]
  lines: { name: string; y: (number | null)[]; lo?: (number | null)[]; hi?: (number | null)[] }[]
}

export interface Run extends RunLine {
  title: string
  sentence: string
  error?: string
  operations: number
  queries: number
  reads: number
  writes: number
  others: number
  reconnects: number
  given_up: number
  errors_by_code: Record<string, number>
  errors_text: string
  arrivals?: { due: number; begun: number; dropped: number; due_per_second: number; text: string }
  client?: string
  fairness?: { events: number; events_sd: number; seconds: number; seconds_sd: number }
  latencies: Latency[]
  charts: Chart[]
  options: Record<string, string>
  warnings: string[]
}

export interface DocumentLine {
  id: string
  kind: string
  target?: string
  at: string
  title: string
  sentence?: string
}

// What `GET classes`, `GET class` and `GET compare-classes` answer. What is missing was not observed.

export interface Class {
  id: string
  fingerprint: string
  schema?: string
  origin: string
  sampled?: boolean // figures estimated from looking at what was running
  count: number
  time_sec: number
  max_sec?: number
  p95_sec?: number
  lock_sec?: number
  cpu_sec?: number
  errors?: number
  rows_sent?: number
  rows_examined?: number
  rows_affected?: number
  full_scans?: number
  full_joins?: number
  no_index?: number
  sort_rows?: number
  tmp_tables?: number
  tmp_disk_tables?: number
  first_seen?: string
  last_seen?: string
  line?: Line
}

export interface Line {
  from: number
  step: number
  values: (number | null)[]
}

export interface Coverage {
  from?: string
  to?: string
  observed_seconds: number
  classes?: number
  count?: number
  time_sec?: number
  statements_per_second?: number // as the server counted them, in classes or not
}

export interface ClassList {
  classes: Class[]
  found?: number // of a search: how many classes have it
  coverage: Coverage
}

export interface Bucket {
  from: string
  to: string
  class: Class
}

export interface Example {
  at: string
  sql: string
  schema?: string
  user?: string
  host?: string
  sec?: number
}

export interface Step {
  select_type?: string
  table: string
  access: string
  possible_keys?: string[]
  key?: string
  key_len?: string
  ref?: string
  rows: number
  filtered?: number
  extra?: string[]
}

export interface Plan {
  hash: string
  schema?: string
  first_seen: string
  last_seen: string
  guess?: boolean
  steps: Step[]
  plan?: string
  before?: string
  changes?: string[]
}

export interface ClassDetail {
  class: Class
  coverage: Coverage
  buckets: Bucket[]
  item?: string
  tables?: string[]
  examples?: Example[]
  plans?: Plan[]
}

export interface Figures {
  count: number
  per_sec: number
  load: number
  share: number
  time_sec: number
  mean_sec?: number
  p95_sec?: number
  examined_per_call?: number
  sent_per_call?: number
  errors_per_sec?: number
  sampled?: boolean
}

export interface Side {
  from: string
  to: string
  coverage: { from?: string; to?: string; seconds: number; classes: number; count: number; time_sec: number }
  load: number
  per_sec: number
}

export interface Compared {
  id: string
  fingerprint: string
  item: string
  before?: Figures
  after?: Figures
  change: 'appeared' | 'vanished' | 'slower' | 'faster' | 'same' | 'unclear'
  reason?: string
  load_change: number
  mean?: { center: number; lo: number; hi: number; n: number; confidence: number }
  mean_ratio?: number
  load_ratio?: number
  calls_ratio?: number
  p95_ratio?: number
  examined_ratio?: number
}

export interface Comparison {
  target: string
  before: Side
  after: Side
  result: 'worse' | 'better' | 'same' | 'unstable' | 'invalid'
  reasons?: string[]
  notes?: string[]
  classes: Compared[]
  total: number
}

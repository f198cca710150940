// What GET settings, discover, grants and POST target/check give.
export interface Entry {
  name: string
  url: string
  defaults_file?: string
  password_env?: string
}

export interface Share {
  target: string
  share: number
  bytes_per_day?: number
  by: string
}

export interface Keeping {
  kind: string
  path: string
  bytes: number
  rows?: number
  oldest?: string
  newest?: string
  flag?: string
  fixed?: boolean // the flag was given
  keep_days?: number
  limit_bytes?: number
  growth_bytes_per_day?: number
  will_take_bytes?: number
  targets?: Share[]
}

export interface Settings {
  version: string
  home: string
  listen?: string
  started: string
  every_seconds: number
  targets: Entry[]
  fixed?: boolean
  keeping: Keeping[]
  disk: { total_bytes?: number; free_bytes?: number }
  process: { pid: number; memory_bytes?: number; cpu_seconds?: number; read_bytes?: number; wrote_bytes?: number; uptime_seconds: number }
  remote_writes: { to: string; acked?: string; samples: number; failing_since?: string; error?: string }[]
  warnings: string[]
}

export interface Source {
  name: string
  state: 'ok' | 'missing' | 'denied' | 'failed' | 'slow'
  reason?: string
  fix?: string
  took_ms?: number
  cost?: string
  every_seconds?: number
  usual_seconds?: number
  budget_seconds_per_second?: number
  asked?: boolean
  grant?: string
  about?: string
}

export interface Checked {
  target?: string
  reached: boolean
  reason?: string
  fix?: string
  create_account?: string[]
  flavor?: string
  version?: string
  user?: string
  tls?: string
  doubt?: string
  sources: Source[]
  grants?: string[]
}

export interface Found {
  name: string
  target?: string
  url: string
  defaults_file?: string
  address: string
  also?: string[]
  found_by: string[]
  flavor?: string
  version?: string
  login: 'ok' | 'refused' | 'failed' | 'untried'
  user?: string
  reason?: string
  fix?: string
  create_account?: string[]
  lacks?: { what: string; reason: string; fix?: string }[]
}

export interface Discovery {
  found: Found[]
  notes?: string[]
}

/** Statements as one text to paste: each ends with a semicolon. */
export function script(statements: readonly string[]): string {
  return statements.map((s) => s.replace(/;\s*$/, '') + ';').join('\n')
}

const words: Record<string, string> = { mysql: 'MySQL', mariadb: 'MariaDB', percona: 'Percona Server' }

/** "mariadb" as people write it. */
export function flavorName(f: string | undefined): string {
  return f === undefined || f === '' ? 'a server' : (words[f] ?? f)
}

/** The flavor in "mariadb 10.11.19", as the inventory tells a server. */
export function flavorOf(server: string | undefined): string {
  const w = (server ?? '').split(' ')[0] ?? ''
  return w in words ? w : ''
}

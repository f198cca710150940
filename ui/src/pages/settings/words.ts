// Words for servers and their statements.
/** Statements as one text to paste: each ends with a semicolon. */
export function script(statements: readonly string[]): string {
  return statements.map((s) => s.replace(/;\s*$/, '') + ';').join('\n')
}

const words: Record<string, string> = { mysql: 'MySQL', mariadb: 'MariaDB', percona: 'Percona Server',
  postgres: 'PostgreSQL' }

/** "mariadb" as people write it. */
export function flavorName(f: string | undefined): string {
  return f === undefined || f === '' ? 'a server' : (words[f] ?? f)
}

/** The flavor in "mariadb 10.11.19", as the inventory describes a server. */
export function flavorOf(server: string | undefined): string {
  const w = (server ?? '').split(' ')[0] ?? ''
  return w in words ? w : ''
}

import { isPostgres, setParams, text } from '../../core'
import { Empty, Num, Table, Unobservable, safe, type Column } from '../../kit'
import { oneLine } from './sessions'
import { lackingTransactions } from './state'
import type { Session, State, Transaction } from '../../core/openapi.gen'

interface Row extends Transaction { s: Session | undefined; blocks: number }

/** What PostgreSQL does not report. */
const ofRows: Column<Row>[] = [
  { key: 'locked', head: 'Rows locked', align: 'right', value: (r) => r.rows_locked,
    cell: (r) => <Num v={r.rows_locked} unit="" /> },
  { key: 'modified', head: 'Rows modified', align: 'right', value: (r) => r.rows_modified,
    cell: (r) => <Num v={r.rows_modified} unit="" /> },
]

/** Open transactions, the oldest first. */
export function Transactions({ state, chosen }: { state: State; chosen: string }) {
  const sessions = new Map((state.sessions ?? []).map((s) => [s.id, s]))
  const blocks = new Map<number, number>()
  for (const w of state.waits ?? []) if (w.blocker !== undefined)
    blocks.set(w.blocker, (blocks.get(w.blocker) ?? 0) + 1)
  const rows: Row[] =
    (state.transactions ?? []).map((t) => ({ ...t, s: sessions.get(t.session), blocks: blocks.get(t.session) ?? 0 }))
    .sort((a, b) => b.seconds - a.seconds)
  const gone = lackingTransactions(state)
  const pg = isPostgres(state.server)
  const columns: Column<Row>[] = [
    { key: 'age', head: 'Open for', align: 'right', value: (r) => r.seconds,
      cell: (r) => <b><Num v={r.seconds} unit="s" /></b> },
    { key: 'session', head: 'Session', align: 'right', first: 'up', value: (r) => r.session,
      cell: (r) =>
      (r.session === 0 ? <span class="dim" title="such as a prepared XA transaction after a restart">none</span>
      : r.session) },
    { key: 'state', head: 'State', value: (r) => r.phase,
      cell: (r) => <span class="nowrap">{safe(r.phase)}{r.read_only && ', read only'}</span> },
    ...(pg ? [] : ofRows),
    { key: 'blocks', head: 'Blocks', title: 'sessions waiting for it', align: 'right', value: (r) => r.blocks,
      cell: (r) => (r.blocks > 0 ? <b class="tone-bad">{r.blocks}</b> : <span class="faint">0</span>) },
    { key: 'user', head: 'User', value: (r) => r.s?.user,
      cell: (r) => <span class="nowrap">{safe(r.s?.user ?? '–')}</span> },
    {
      key: 'does', head: 'Statement', class: 'statement',
      cell: (r) => (r.s === undefined ? <span class="faint">–</span>
        : r.s.command === 'Sleep' ? <span class="tone-warn">idle for {text(r.s.seconds, 's')}</span>
        : <span class="mono">{oneLine(r.s.sql)}</span>),
    },
  ]
  return (
    <div class="stack">
      {gone && <Unobservable what="Transactions" why={gone.reason} fix={gone.fix && <code>{gone.fix}</code>} />}
      {(state.left?.transactions ?? 0) > 0 &&
        <p class="dim">{state.left?.transactions} more transactions were open; they are not stored.</p>}
      <Table label="Transactions" columns={columns} rows={rows} rowKey={(r) => r.id + '/' + r.session}
        selected={rows.find((r) => String(r.session) === chosen)
          ? rows.filter((r) => String(r.session) === chosen).map((r) => r.id + '/' + r.session)[0] ?? null : null}
        onOpen={(r) => r.session > 0 && setParams({ session: r.session })} sortParam="tsort"
        empty={gone ? <></> : <Empty icon="good" title="No open transactions" 
          hint={`${pg ? 'The server' : 'InnoDB'} had none in this second.`} />}
      />
    </div>
  )
}

import { useMemo } from 'preact/hooks'
import { isPostgres, setParams, text, useParam, withParams } from '../../core'
import { Empty, Icon, Num, Search, Table, Unobservable, safe, type Column } from '../../kit'
import { words, type Differences } from './differences'
import { classLink } from './session'
import { asleep, lacking } from './state'
import type { Session, State, Transaction } from '../../core/openapi.gen'

interface Row extends Session {
  trx: Transaction | undefined
  waitsFor: (number | undefined)[] | undefined
  blocks: number
}

/** A statement in one line for a cell. */
export function oneLine(sql: string | undefined, most = 400): string {
  return safe((sql ?? '').slice(0, most)).replace(/\s+/g, ' ').trim()
}

function rowsOf(s: State): Row[] {
  const trx = new Map((s.transactions ?? []).map((t) => [t.session, t]))
  const waits = new Map<number, (number | undefined)[]>()
  const blocks = new Map<number, Set<number>>()
  for (const w of s.waits ?? []) {
    waits.set(w.waiter, [...(waits.get(w.waiter) ?? []), w.blocker])
    if (w.blocker !== undefined) blocks.set(w.blocker, (blocks.get(w.blocker) ?? new Set()).add(w.waiter))
  }
  return (s.sessions ?? []).map(
    (x) => ({ ...x, trx: trx.get(x.id), waitsFor: waits.get(x.id), blocks: blocks.get(x.id)?.size ?? 0 }))
}

const distinct = (list: (string | undefined)[]) => [...new Set(list.filter((x): x is string => !!x))].sort()

export function Sessions({ state, diff, chosen }: { state: State; diff: Differences; chosen: string }) {
  const [q] = useParam('q')
  const [user, setUser] = useParam('user')
  const [db, setDb] = useParam('db')
  const [command, setCommand] = useParam('command')
  const [sleeping, setSleeping] = useParam('sleeping')
  const all = useMemo(() => rowsOf(state), [state])
  const has = q.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = (r: Row) =>
    (user === '' || r.user === user) && (db === '' || r.db === db) && (command === '' || r.command === command) &&
    has.every((w) => [r.id, r.user, r.host, r.db, r.command, r.phase, r.sql].join('\n').toLowerCase().includes(w))
  const resting = (r: Row) => asleep(r) && !r.trx && !r.waitsFor && r.blocks === 0
  const fitting = all.filter(fits)
  const rows = sleeping === '1' || command === 'Sleep' || command === 'Daemon' ? fitting
    : fitting.filter((r) => !resting(r))
  const hidden = fitting.length - rows.length
  const filtered = q !== '' || user !== '' || db !== '' || command !== ''
  const gone = lacking(state, 'processlist')

  const columns: Column<Row>[] = [
    {
      key: 'id', head: 'Session', align: 'right', first: 'up', value: (r) => r.id,
      title: isPostgres(state.server) ? 'process id' : 'connection id, as in KILL',
      cell: (r) => <span class="nowrap"><Hint what={diff.sessions.get(r.id)} />{r.id}</span>,
    },
    { key: 'user', head: 'User', value: (r) => r.user,
      cell: (r) => <span class="nowrap" title={r.host ? `from ${safe(r.host)}` : undefined}>{safe(r.user ?? '–')}
    </span> },
    { key: 'time', head: 'Time', align: 'right', value: (r) => r.seconds, title: 'in this command',
      cell: (r) => <Num v={r.seconds} unit="s" /> },
    { key: 'phase', head: 'State', value: (r) => r.phase,
      title: "state as reported by the server, or what it waits for", cell: (r) => <Does r={r} /> },
    { key: 'sql', head: 'Statement', lead: true, value: (r) => r.sql, class: 'statement',
      cell: (r) => <span class="mono">{oneLine(r.sql) || <span class="faint">–</span>}</span> },
    { key: 'trx', head: 'Transaction', align: 'right', value: (r) => r.trx?.seconds,
      title: 'how long its transaction has been open', cell: (r) => <Num v={r.trx?.seconds} unit="s" /> },
    ...(isPostgres(state.server) ? [] // it does not report them
      : [{ key: 'examined', head: 'Rows read', align: 'right' as const, value: (r: Row) => r.examined,
      title: 'rows examined so far by the running statement', cell: (r: Row) => <Num v={r.examined} unit="" /> }]),
    ...(distinct(rows.map((r) => r.db)).length > 1
      ? [{ key: 'db', head: 'Database', value: (r: Row) => r.db,
      cell: (r: Row) => <span class="dim nowrap">{safe(r.db ?? '–')}</span> }] : []),
    { key: 'command', head: 'Command', value: (r) => r.command,
      cell: (r) => <span class="nowrap">{safe(r.command)}</span> },
    {
      key: 'class', head: <span class="hide">Query class</span>,
      cell: (r) =>
        r.class && (
          <a class="to-class" href={classLink(r.class, Date.parse(state.at) / 1000)} title="show its query class">
            <Icon name="queries" />
            <span class="hide">query class of session {r.id}</span>
          </a>
        ),
    },
  ]

  return (
    <>
      <div class="filters">
        <Search label="Find a session" placeholder="id, user, host, statement" />
        <Choice label="User" value={user} set={setUser} options={distinct(all.map((r) => r.user))} />
        <Choice label="Database" value={db} set={setDb} options={distinct(all.map((r) => r.db))} />
        <Choice label="Command" value={command} set={setCommand} options={distinct(all.map((r) => r.command))} />
        <label class="check">
          <input type="checkbox" checked={sleeping === '1'}
            onChange={(e) => setSleeping(e.currentTarget.checked ? '1' : null)} />
          Sleeping
        </label>
        {filtered && <a class="dim" href={withParams({ q: null, user: null, db: null, command: null })}>Clear</a>}
        <span class="faint grow num">
          {!gone && `${rows.length} shown`}
          {state.connections !== undefined
            ? ` of ${state.connections} ` +
              `connections${(state.idle ?? hidden) > 0 ? `, ${state.idle ?? hidden} ` +
                `idle` : ''}` : hidden > 0 && `, ${hidden} sleeping hidden`}
          {diff.known && diff.ended > 0 && ` · ${diff.ended} ended in the last second`}
        </span>
      </div>
      {gone && <Unobservable what="Processlist" why={gone.reason} fix={gone.fix && <code>{gone.fix}</code>} />}
      {(state.left?.sessions ?? 0) > 0 &&
        <p class="dim">The server had {state.left?.sessions} more sessions; the least active ones are not stored.</p>}
      {!(gone && rows.length === 0) && <Table label="Sessions" columns={columns} rows={rows}
        rowKey={(r) => String(r.id)} selected={chosen === '' ? null : chosen}
        onOpen={(r) => setParams({ session: String(r.id) === chosen ? null : r.id })} sortParam="sort" empty={
          filtered ? (
            <Empty icon="search" title="No session matches"
              hint={`${all.length} ${all.length === 1 ? 'session is' : 'sessions are'} stored for this second.`} />
          ) : <Empty icon="activity" title="No active sessions" hint={idleOf(state.connections ?? hidden)} />
        } />}
    </>
  )
}

function idleOf(n: number): string {
  return n === 0 ? 'Only Dyno was connected in this second.'
    : n === 1 ? 'The only connection was idle.' : `All ${n} connections were idle.`
}

function Hint({ what }: { what: keyof typeof words | undefined }) {
  if (!what) return null
  return <span class={`hint hint-${what}`} title={words[what]}><span class="hide">{words[what]}</span></span>
}

function Does({ r }: { r: Row }) {
  if (r.waitsFor) {
    const first = r.waitsFor[0]
    return (
      <span class="does tone-bad" title={r.phase ? safe(r.phase) : undefined}>
        <Icon name="lock" size={13} />
        {`waits for ${first ?? 'an unknown session'}${r.waitsFor.length > 1 ? ` and ${r.waitsFor.length - 1} ` +
          `more` : ''}${r.blocks > 0 ? `, blocks ${r.blocks}` : ''}`}
      </span>
    )
  }
  if (r.blocks > 0)
    return (
      <span class="does tone-warn" title={r.phase ? safe(r.phase) : undefined}>
        <Icon name="lock" size={13} />
        {`blocks ${r.blocks}`}
      </span>
    )
  const progress = r.progress === undefined ? '' : ` ${text(r.progress, 'ratio')}`
  return (
    <span class="dim cut phase" title={safe([r.phase, r.wait].filter(Boolean).join(' · '))}>
      {safe(r.phase || r.wait || '–')}
      {progress}
    </span>
  )
}

function Choice(p: { label: string; value: string; set: (v: string | null) => void; options: string[] }) {
  const options = p.value !== '' && !p.options.includes(p.value) ? [p.value, ...p.options] : p.options
  return (
    <select class="input choice" aria-label={p.label} value={p.value}
      onChange={(e) => p.set(e.currentTarget.value || null)}>
      <option value="">{p.label}: any</option>
      {options.map((o) => <option key={o} value={o}>{safe(o)}</option>)}
    </select>
  )
}

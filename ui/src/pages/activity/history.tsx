import { ago, get, isPostgres, moment, text, useData, useParam, useRange, withParams } from '../../core'
import { Badge, Button, Empty, Icon, Loading, Notice, Panel, Problem, safe, Sql, Table, type Column } from '../../kit'
import { classLink } from './session'
import { oneLine } from './sessions'
import type { Deadlock, Lock, Locks, LockWait, Pair } from '../../core/openapi.gen'

const seconds = (t: string) => Date.parse(t) / 1000
const most = 200

/** The deadlocks and lock waits of the range: which statements blocked which, how often, and each of them. */
export function LockHistory({ target, server }: { target: string; server: string | undefined }) {
  const [range] = useRange('-15m')
  const [chosen, choose] = useParam('deadlock')
  const grain = Math.max(5, Math.round((range.to - range.from) / 300))
  const to = Math.ceil(range.to / grain) * grain
  const from = Math.floor(range.from / grain) * grain
  const data = useData<Locks>(`locks\n${target}\n${from}\n${to}`,
    (signal) => get('locks', { target, from, to, limit: most }, signal), { keep: true })
  const x = data.value
  if (!x) return data.error ? <Problem error={data.error} retry={data.reload} what="Lock history" /> : <Loading lines={6} />
  const nothing = x.deadlock_count + x.wait_count + x.missed_count === 0
  return (
    <div class="stack">
      {data.error && <Problem error={data.error} retry={data.reload} what="Lock history" />}
      {x.missed_count > 0 && (
        <Notice tone="warn">
          {x.missed_count} more {x.missed_count === 1 ? 'deadlock was' : 'deadlocks were'} counted and could not be
          read: {safe(x.missed[0]?.why ?? '')}
        </Notice>
      )}
      {chosen !== '' && <Chosen target={target} id={chosen} known={x.deadlocks} onClose={() => choose(null)} />}
      {nothing && (
        <Empty icon="good" title="No deadlocks and no long lock waits" hint={
            `Between ${moment(range.from)} and ${moment(range.to)}. ` + (isPostgres(server)
              ? 'Waits of a second and longer are stored; of deadlocks the number.'
              : 'Deadlocks and lock waits of a second and longer are stored. Choose a longer range above.')
          } />
      )}
      {x.pairs.length > 0 && <Pairs pairs={x.pairs} at={to} />}
      {x.deadlock_count > 0 && (
        <Panel title={`Deadlocks (${x.deadlock_count})`}>
          <Table columns={deadlockColumns} rows={x.deadlocks} rowKey={(d) => d.id} selected={chosen || null}
            onOpen={(d) => choose(d.id)} sortParam="dsort" sort="-at" label="Deadlocks" height="360px" />
          {x.deadlock_count > x.deadlocks.length && <p class="dim">The latest {x.deadlocks.length} are listed.</p>}
        </Panel>
      )}
      {x.wait_count > 0 && (
        <Panel title={`Lock waits (${x.wait_count})`}>
          <Table columns={waitColumns} rows={x.waits} rowKey={(w) => w.id} sortParam="wsort" sort="-at"
            label="Lock waits" height="360px" />
          {x.wait_count > x.waits.length && <p class="dim">The latest {x.waits.length} are listed.</p>}
        </Panel>
      )}
    </div>
  )
}

function Second({ at }: { at: number }) {
  return <a class="nowrap" href={withParams({ at: Math.floor(at), tab: 'locks' })}
    title={ago(at)}>{moment(at, { seconds: true, date: true })}</a>
}

function ClassName({ id, print, at }: { id: string | undefined; print: string | undefined; at: number }) {
  if (!id) return <span class="dim">unknown</span>
  return <a class="mono cut" href={classLink(id, at)} title={safe(print ?? id)}>{print ? oneLine(print, 90) : id}</a>
}

function Pairs({ pairs, at }: { pairs: Pair[]; at: number }) {
  const columns: Column<Pair>[] = [
    { key: 'blocking', head: 'Blocking query', lead: true, value: (p) => p.blocking_fingerprint ?? p.blocking,
      cell: (p) => <ClassName id={p.blocking} print={p.blocking_fingerprint} at={at} /> },
    { key: 'blocked', head: 'Blocked query', value: (p) => p.blocked_fingerprint ?? p.blocked,
      title: 'The victim, if it was a deadlock',
      cell: (p) => <ClassName id={p.blocked} print={p.blocked_fingerprint} at={at} /> },
    { key: 'deadlocks', head: 'Deadlocks', align: 'right', value: (p) => p.deadlocks, cell: (p) => p.deadlocks },
    { key: 'waits', head: 'Waits', align: 'right', value: (p) => p.waits, cell: (p) => p.waits },
    { key: 'waited', head: 'Waited', align: 'right', value: (p) => p.wait_seconds,
      cell: (p) => text(p.wait_seconds, 's') },
  ]
  return (
    <Panel title="Blocking and blocked queries">
      <Table columns={columns} rows={pairs} rowKey={(p) => `${p.blocking ?? ''} ${p.blocked ?? ''}`} sortParam="psort"
        sort="-deadlocks" label="Pairs of queries" height="300px" />
    </Panel>
  )
}

const named = (l: Lock | undefined) => (l === undefined ? '' : `${l.object ?? ''}${l.index ? ` (${l.index})` : ''}` ||
  l.kind)

const deadlockColumns: Column<Deadlock>[] = [
  { key: 'at', head: 'Time', lead: true, value: (d) => d.at, cell: (d) => <Second at={seconds(d.at)} /> },
  { key: 'on', head: 'Waited for', value: (d) => named(d.parties[0]?.waits?.[0]),
    cell: (d) => [...new Set(d.parties.flatMap((p) => p.waits ?? []).map(named))].map(safe).join(', ') },
  { key: 'sessions', head: 'Sessions', cell: (d) => d.parties.map((p) => p.session ?? '?').join(', ') },
  { key: 'victim', head: 'Rolled back', cell: (d) => {
    const v = d.parties.find((p) => p.victim)
    return v ? <span class="mono cut">{oneLine(v.sql, 80)}</span> : <span class="dim" title={d.victim_unknown}>unknown</span>
  } },
]

const waitColumns: Column<LockWait>[] = [
  { key: 'at', head: 'Since', lead: true, value: (w) => w.begin,
    cell: (w) => <a class="nowrap" href={withParams({ at: Math.floor(seconds(w.end)), tab: 'locks' })}
      title="Its last second in Activity">{moment(seconds(w.begin), { seconds: true, date: true })}</a> },
  { key: 'lasted', head: 'Lasted', align: 'right', value: (w) => seconds(w.end) - seconds(w.begin),
    cell: (w) => <>{text(seconds(w.end) - seconds(w.begin), 's')}{w.open && '…'}</> },
  { key: 'total', head: 'Sessions', align: 'right', value: (w) => w.total, cell: (w) => w.total },
  { key: 'depth', head: 'Chain', align: 'right', title: 'Sessions in the longest chain below the root',
    value: (w) => w.depth, cell: (w) => w.depth },
  { key: 'lock', head: 'Lock', cell: (w) => [...new Set(w.waiters.map((x) => `${named(x.lock)}, ${x.lock.kind}`))]
    .slice(0, 3).map(safe).join('; ') },
  { key: 'root', head: 'Root blocker', cell: (w) => w.root.session === undefined
    ? <span class="dim">unknown: {safe(w.root.unknown ?? '')}</span>
    : <span class="cut" title={safe(w.root.sql ?? '')}>
      {w.root.session} {safe(w.root.user ?? '')}
      {w.root.idle ? <span class="tone-warn"> idle{w.root.since
        ? ` since ${moment(seconds(w.root.since), { seconds: true })}` : ''}</span> : ''}
      {w.root.sql && <span class="mono"> {oneLine(w.root.sql, 80)}</span>}
    </span> },
  { key: 'first', head: 'Longest waiter', cell: (w) => <span class="mono cut">{oneLine(w.waiters[0]?.sql, 80)}</span> },
]

/** One deadlock: from the list, or asked for when the list does not have it. */
function Chosen(p: { target: string; id: string; known: Deadlock[]; onClose: () => void }) {
  const have = p.known.find((d) => d.id === p.id)
  const data = useData<Deadlock>(have ? null : `deadlock\n${p.target}\n${p.id}`,
    (signal) => get('deadlock', { target: p.target, id: p.id }, signal))
  const d = have ?? data.value
  if (!d) return data.error ? <Problem error={data.error} retry={data.reload} what="Deadlock" /> : <Loading lines={4} />
  const at = seconds(d.at)
  return (
    <section class="panel deadlock" aria-label="Deadlock">
      <header class="root-name">
        <Badge tone="bad" icon="lock">Deadlock</Badge>
        <Second at={at} />
        {d.victim_unknown && <span class="dim">Which session was rolled back is unknown: {safe(d.victim_unknown)}</span>}
        <span class="grow" />
        <Button small kind="quiet" onClick={p.onClose}>Close</Button>
      </header>
      <div class="deadlock-parties">
        {d.parties.map((x, i) => (
          <article key={i} class={x.victim ? 'deadlock-party victim' : 'deadlock-party'}
            aria-label={`Session ${x.session ?? '?'}`}>
            <p class="root-name">
              <b>Session {x.session ?? '?'}</b>
              <span class="dim">{safe(`${x.user ?? ''}${x.host ? '@' + x.host : ''}`)}</span>
              {x.victim && <Badge tone="bad">Rolled back</Badge>}
              {x.class && <a href={classLink(x.class, at)}>Query</a>}
            </p>
            {x.sql ? <Sql text={x.sql} lines={6} /> : <p class="dim">Statement unknown</p>}
            <Held what="Holds" locks={x.holds} />
            <Held what="Waits for" locks={x.waits} />
            {blockersOf(d, i).map((n) => (
              <p key={n} class="deadlock-arrow"><Icon name="right" /> waits for session {d.parties[n]?.session ?? '?'}</p>
            ))}
          </article>
        ))}
      </div>
    </section>
  )
}

/** Which parties hold what one waits for, as far as the report shows it; of two it is the other. */
export function blockersOf(d: Deadlock, i: number): number[] {
  if (d.parties.length === 2) return [1 - i]
  const wants = d.parties[i]?.waits ?? []
  const same = (a: Lock, b: Lock) => a.object === b.object && a.index === b.index &&
    (a.record === undefined || b.record === undefined || a.record.join() === b.record.join())
  return d.parties.flatMap((p, n) =>
    n !== i && (p.holds ?? []).some((h) => wants.some((w) => same(h, w))) ? [n] : [])
}

function Held({ what, locks }: { what: string; locks: Lock[] | undefined }) {
  if (!locks || locks.length === 0) return <p class="dim">{what}: not reported</p>
  return (
    <dl class="deadlock-locks">
      <dt>{what}</dt>
      {locks.map((l, i) => (
        <dd key={i}>
          <b>{safe(named(l))}</b> <span class="dim">{safe(l.mode ?? '')}</span>
          {l.record && <span class="mono dim cut" title="First columns of the locked record, as InnoDB stores them">
            {' '}{safe(l.record.join(' '))}</span>}
        </dd>
      ))}
    </dl>
  )
}

import { useState } from 'preact/hooks'
import { isPostgres, setParams, text, useParam } from '../../core'
import { Badge, Button, Empty, Icon, Unobservable, safe } from '../../kit'
import { Lock, SessionLink } from './session'
import { oneLine } from './sessions'
import { lacking } from './state'
import type { Node, Root } from './tree'
import type { Session, State, Transaction } from '../../core/openapi.gen'

interface Known { sessions: Map<number, Session>; trx: Map<number, Transaction> }

function knownOf(s: State): Known {
  return { sessions: new Map((s.sessions ?? []).map((x) => [x.id, x])),
    trx: new Map((s.transactions ?? []).map((t) => [t.session, t])) }
}

const many = (n: number) => (n === 1 ? '1 session' : `${n} sessions`)

/** One line for each root blocker. */
export function LockBanner({ roots, state }: { roots: Root[]; state: State }) {
  const known = knownOf(state)
  return (
    <section class="banner" aria-label="Root blockers" aria-live="polite">
      {roots.slice(0, 3).map((r, i) => {
        const s = r.session === undefined ? undefined : known.sessions.get(r.session)
        const t = r.session === undefined ? undefined : known.trx.get(r.session)
        return (
          <div key={r.session ?? `unknown${i}`} class="banner-line root-blocker">
            <Icon name="lock" />
            <span>
              {r.session === undefined ? (
                <><b>An unknown session</b> blocks {many(r.total)}{r.object && <> on {safe(r.object)}</>}</>
              ) : (
                <>
                  <b><SessionLink id={r.session}>Session {r.session}</SessionLink></b>{' '}
                  {s?.user && <>({safe(s.user)}) </>}blocks {many(r.total)}
                </>
              )}
              {r.longest > 0 && <>, the longest for {text(r.longest, 's')}</>}
            </span>
            <span class="faint cut grow">
              {r.session === undefined ? safe(r.unknown ?? '')
                : r.cycle ? 'circular wait'
                : s ? `${s.command === 'Sleep' ? `idle for ` +
                  `${text(s.seconds, 's')}${s.last_sql ? ` after ` +
                    `${oneLine(s.last_sql, 120)}` : ''}` : oneLine(s.sql, 200)}${t ? ` · transaction open for ` +
                      `${text(t.seconds, 's')}` : ''}` : ''}
            </span>
          </div>
        )
      })}
      <a href="#locks" class="nowrap" onClick={(e) => {
          e.preventDefault()
          setParams({ tab: 'locks' })
        }}>
        {roots.length > 3 ? `All ${roots.length} blockers` : 'Lock tree'}
      </a>
    </section>
  )
}

/** Who waits for whom, the root blocker on top. */
export function Locks({ roots, state }: { roots: Root[]; state: State }) {
  const [kind] = useParam('kind')
  const gone = lacking(state, 'locks')
  const known = knownOf(state)
  const shown = kind === '' ? roots : roots.filter((r) => r.waiters.some((n) => n.wait.kind === kind))
  return (
    <div class="stack">
      {gone && <Unobservable what="Locks" why={gone.reason} fix={gone.fix && <code>{gone.fix}</code>} />}
      {(state.left?.waits ?? 0) > 0 && <p class="dim">{state.left?.waits} more waits existed; they are not stored.</p>}
      {shown.length === 0 && !gone &&
        <Empty icon="good" title="No lock waits"
        hint={`${isPostgres(state.server) ? 'Locks of rows, tables, transactions and advisory locks'
        : 'Row, metadata, table and user locks'} were checked in this second.`} />}
      {shown.map((r, i) => (
        <section key={r.session ?? `unknown${i}`} class="panel root"
          aria-label={r.session === undefined ? 'unknown blocker' : `root blocker ${r.session}`}>
          <RootHead r={r} known={known} pg={isPostgres(state.server)} />
          <Waiters nodes={r.waiters} known={known} depth={0} />
        </section>
      ))}
    </div>
  )
}

function RootHead({ r, known, pg }: { r: Root; known: Known; pg: boolean }) {
  const s = r.session === undefined ? undefined : known.sessions.get(r.session)
  const t = r.session === undefined ? undefined : known.trx.get(r.session)
  return (
    <header class="root-head">
      <div class="root-name">
        {r.session === undefined ? <Badge tone="unknown">Blocker unknown</Badge>
          : <Badge tone="bad" icon="lock">{r.cycle ? 'Cycle' : 'Root blocker'}</Badge>}
        {r.session !== undefined && <b><SessionLink id={r.session}>Session {r.session}</SessionLink></b>}
        <span>
          blocks <b>{many(r.total)}</b>
          {r.longest > 0 && <>, the longest for <b>{text(r.longest, 's')}</b></>}
        </span>
        {s && (
          <span class="dim">{safe(`${s.user ?? ''}${s.host ? '@' + s.host : ''}`)}{s.db && ` · ${safe(s.db)}`}</span>
        )}
      </div>
      {r.session === undefined && (
        <p>
          {r.object && <b>{safe(r.object)}: </b>}
          {safe(r.unknown || 'the server does not report who holds the lock')}
        </p>
      )}
      {r.session !== undefined && !s && <p class="dim">It was not in the processlist in this second.</p>}
      {s && (
        <p>
          <span class={s.command === 'Sleep' ? 'tone-warn' : ''}>
            {s.command === 'Sleep' ? `Idle for ${text(s.seconds, 's')}`
            : `${safe(s.command)} for ${text(s.seconds, 's')}`}</span>
          {t && (
            <>
              , transaction open for <b>{text(t.seconds, 's')}</b>
              {t.rows_locked !== undefined &&
                `, ${text(t.rows_locked, '')} ${t.rows_locked === 1 ? 'row' : 'rows'} locked`}
              {t.rows_modified !== undefined && `, ${text(t.rows_modified, '')} modified`}
            </>
          )}
          {!t && s.command === 'Sleep' && <span class="dim">, no transaction visible</span>}
        </p>
      )}
      {s?.sql ? <p class="mono statement-line">{oneLine(s.sql, 500)}</p>
        : s?.command === 'Sleep' &&
        (s.last_sql
        ? <p class="mono statement-line"><span class="faint">Last statement:</span> {oneLine(s.last_sql, 500)}</p>
        : <p class="faint">
        Last statement unknown: the session is idle, and {pg ? 'pg_stat_activity does not show it (pg_monitor).'
        : 'performance_schema does not have it (consumer events_statements_current).'} Step back to look for it.</p>)}
    </header>
  )
}

const first = 20

function Waiters({ nodes, known, depth }: { nodes: Node[]; known: Known; depth: number }) {
  const [all, setAll] = useState(false)
  if (nodes.length === 0) return null
  const shown = all ? nodes : nodes.slice(0, first)
  return (
    <ul class="waiters">
      {shown.map((n) => {
        const s = known.sessions.get(n.wait.waiter)
        return (
          <li key={n.wait.waiter}>
            <div class="waiter">
              <SessionLink id={n.wait.waiter} />
              <span class="waiter-time num">{text(n.wait.seconds, 's')}</span>
              <span class="dim nowrap">{safe(s?.user ?? '')}</span>
              <span class="mono cut grow">{oneLine(s?.sql)}</span>
              <span class="waiter-lock cut"
                title={safe([n.wait.object, n.wait.mode, n.wait.held].filter(Boolean).join(' · '))}>
                <Lock w={n.wait} />
              </span>
            </div>
            {depth < 40 && <Waiters nodes={n.waiters} known={known} depth={depth + 1} />}
          </li>
        )
      })}
      {nodes.length > first && (
        <li>
          <Button small kind="quiet" onClick={() => setAll(!all)}>
            {all ? 'Show fewer' : `${nodes.length - first} more`}
          </Button>
        </li>
      )}
    </ul>
  )
}

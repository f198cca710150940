import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { ago, href, isPostgres, moment, post, setParams, text, useKeys, whyNot } from '../../core'
import { Button, Confirm, Copy, Sql, safe, toast } from '../../kit'
import { lackingTransactions } from './state'
import type { State, Wait } from '../../core/openapi.gen'

/** A class in Queries, round a moment. */
export function classLink(id: string, at: number): string {
  return href('queries', { class: id, from: Math.round(at) - 1800, to: Math.round(at) + 300 })
}

/** Another session of this moment. */
export function SessionLink({ id, children }: { id: number; children?: ComponentChildren }) {
  return <button type="button" class="link" onClick={() => setParams({ session: id })}>{children ?? id}</button>
}

/** One session in full: statement, transaction, whom it waits for and who waits for it. */
export function SessionPanel(
  { id, state, at, onClose }: { id: string; state: State; at: number | 'live'; onClose: () => void }) {
  const n = Number(id)
  const s = state.sessions?.find((x) => x.id === n)
  const trx = state.transactions?.filter((x) => x.session === n) ?? []
  const waits = state.waits?.filter((w) => w.waiter === n) ?? []
  const waiters = state.waits?.filter((w) => w.blocker === n) ?? []
  const shown = Date.parse(state.at) / 1000
  const pg = isPostgres(state.server)
  const opener = useRef(document.activeElement)
  const close = () => {
    // The focus goes back to the session's row, else to what opened this.
    const back = document.querySelector('.moment-main tr[aria-selected=true]') ?? opener.current
    onClose()
    if (back instanceof HTMLElement && back.isConnected) back.focus({ preventScroll: true })
  }
  const [asking, ask] = useState(false)
  useKeys({ Escape: { help: 'close the session', run: close } })
  return (
    <aside class="panel session" aria-label={`Session ${safe(id)}`}>
      <header>
        <h2 class="grow">Session {safe(id)}</h2>
        {Number.isInteger(n) && n > 0 && 
          <Copy text={pg ? `SELECT pg_terminate_backend(${n});` : `KILL ${n};`}
            label={pg ? 'Copy terminate' : 'Copy KILL'} />}
        {at === 'live' && s?.user && (
          <Button small kind="danger" why={whyNot()} onClick={() => ask(true)}>Kill…</Button>
        )}
        <Button kind="quiet" small icon="close" label="Close (Esc)" onClick={close} />
      </header>
      <div class="body stack">
        {!s && trx.length === 0 && waits.length === 0 && waiters.length === 0 ? (
          <p class="dim">
            {at === 'live' ? 'No longer connected' : 'Not connected in this second'}, or not among the stored sessions.
              {' '}
            {at === 'live' && 'Step back with ← to see what it did.'}
          </p>
        ) : (
          <>
            {s && (
              <dl class="facts">
                <Fact name="User">{safe(`${s.user ?? '–'}${s.host ? ' from ' + s.host : ''}`)}</Fact>
                <Fact name="Database">{safe(s.db ?? 'none')}</Fact>
                <Fact name="Command">
                  {safe(s.command)} for {text(s.seconds, 's')} <span class="faint">
                    since {moment(shown - s.seconds, { seconds: true })}</span>
                </Fact>
                {s.phase && <Fact name="State">{safe(s.phase)}</Fact>}
                {s.wait && <Fact name="Wait event">{safe(s.wait)}</Fact>}
                {s.progress !== undefined && <Fact name="Progress">{text(s.progress, 'ratio')}</Fact>}
                {(s.examined !== undefined || s.sent !== undefined) && (
                  <Fact name="Rows">{text(s.examined, '')} examined, {text(s.sent, '')} sent</Fact>
                )}
                {s.memory !== undefined && <Fact name="Memory">{text(s.memory, 'B')}</Fact>}
              </dl>
            )}
            {s?.sql && (
              <section>
                <div class="row">
                  <h3 class="grow">Statement</h3>
                  {s.class && <a href={classLink(s.class, shown)}>Query class</a>}
                  <Copy text={s.sql} label="Copy SQL" />
                </div>
                <div class="sql-box"><Sql text={s.sql} /></div>
                {new TextEncoder().encode(s.sql).length >= 2040 &&
                  <p class="faint">Only the first 2 KiB are stored.</p>}
              </section>
            )}
            {s && !s.sql && s.last_sql && (
              <section>
                <div class="row"><h3 class="grow">Last statement</h3><Copy text={s.last_sql} label="Copy SQL" /></div>
                <div class="sql-box"><Sql text={s.last_sql} /></div>
              </section>
            )}
            <section>
              <h3>Transaction</h3>
              {trx.length === 0 ? (
                <p class="dim">{lackingTransactions(state) ? 'Transactions were not observed.'
                  : pg ? 'No open transaction.' : 'No open transaction in InnoDB.'}</p>
              ) : (
                trx.map((t) => (
                  <dl key={t.id} class="facts">
                    <Fact name="Open for">
                      {text(t.seconds, 's')} <span class="faint">since {moment(shown - t.seconds, { seconds: true })}
                      </span>
                    </Fact>
                    <Fact name="State">{safe(t.phase)}{t.read_only && ', read only'}</Fact>
                    {!pg && <Fact name="Rows">
                      {text(t.rows_locked, '')} locked, {text(t.rows_modified, '')} modified</Fact>}
                    <Fact name="Number">{safe(t.id)}</Fact>
                  </dl>
                ))
              )}
            </section>
            <section>
              <h3>Locks</h3>
              {waits.length + waiters.length === 0 && <p class="dim">No lock waits; blocks no session.</p>}
              {waits.map((w, i) => (
                <p key={i}>
                  Waits {w.seconds !== undefined && `${text(w.seconds, 's')} `}
                    for {w.blocker === undefined ? <Unknown w={w} />
                    : <>session <SessionLink id={w.blocker} /></>} <Lock w={w} />
                </p>
              ))}
              {waiters.slice(0, 50).map((w) => (
                <p key={w.waiter}>
                  Session <SessionLink id={w.waiter} /> waits for it
                    {w.seconds !== undefined && `, ${text(w.seconds, 's')}`} <Lock w={w} />
                </p>
              ))}
              {waiters.length > 50 && <p class="dim">… and {waiters.length - 50} more.</p>}
            </section>
          </>
        )}
        <p class="faint">As of {moment(shown, { date: true, seconds: true })}, {ago(shown)}.</p>
      </div>
      {asking && s?.user && (
        <Confirm title={`Kill session ${n} on ${state.target}?`} yes={pg ? `Terminate ${n}` : `KILL ${n}`}
          danger why={whyNot()} onClose={() => ask(false)} run={async () => {
            await post('kill', { target: state.target, session: n, user: s.user ?? '', confirm: `KILL ${n}` })
            toast(`Session ${n} was killed; see the journal`, 'good')
          }}>
          <p>
            It belongs to <b>{safe(s.user)}</b>
            {s.host && <> from {safe(s.host)}</>} and has been in {safe(s.command)} for {text(s.seconds, 's')}.
          </p>
          {trx.length > 0 ? (
            <p>
              Its open transaction is rolled back{pg ? '; PostgreSQL does not report how many rows it modified.'
                : `: ${text(trx.reduce((a, t) => a + (t.rows_modified ?? 0), 0), '')} modified rows. Rolling back ` +
                  'many rows takes time, and their locks are held until then.'}
            </p>
          ) : <p>{lackingTransactions(state) ? 'Whether it has an open transaction was not observed.'
            : pg ? 'It has no open transaction.' : 'It has no open transaction in InnoDB.'}</p>}
          {waiters.length > 0 &&
            <p>{waiters.length === 1 ? 'One session waits' : `${waiters.length} sessions wait`} for it.</p>}
          <p class="dim">This cannot be undone. It is recorded in the journal and the audit log.</p>
        </Confirm>
      )}
    </aside>
  )
}

function Unknown({ w }: { w: Pick<Wait, 'unknown'> }) {
  return <span>an unknown session <span class="dim">({safe(w.unknown || 'not reported by the server')})</span></span>
}

/** What is locked and how. */
export function Lock({ w }: { w: Wait }) {
  const what = [w.object, w.mode && `wants ${w.mode}`, w.held && `held ${w.held}`].filter(Boolean).join(' · ')
  return <span class="faint">{w.kind} lock{what && ` · ${safe(what)}`}</span>
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>
}

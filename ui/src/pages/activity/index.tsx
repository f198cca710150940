import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ago, get, go, href, isPostgres, moment, now, span, useData, useGet, useKeys, useParam, useRange, useTarget,
  withParams, type ApiError } from '../../core'
import { Button, Empty, Icon, Loading, Notice, Page, Problem, safe, Show, Tabs, Unobservable } from '../../kit'
import { differences } from './differences'
import { LockHistory } from './history'
import { Innodb } from './innodb'
import { LockBanner, Locks } from './locks'
import { moved, offered, readAt, stepOf } from './moments'
import { SessionPanel } from './session'
import { Sessions } from './sessions'
import { asleep, lacking, lackingTransactions } from './state'
import { Timeline } from './timeline'
import { Transactions } from './transactions'
import { tree } from './tree'
import { VitalStrip } from './vitals'
import './activity.css'
import type { State } from '../../core/openapi.gen'

export function ActivityPage() {
  return <Page title="Activity" target range="-15m"><Moments /></Page>
}

export default ActivityPage

function Moments() {
  const [target] = useTarget()
  const [param, setAt] = useParam('at')
  const [range] = useRange('-15m')
  const asked = readAt(param)
  const unreadable = Number.isNaN(asked)
  const future = asked !== 'live' && asked > now() + 5
  const at = unreadable || future ? 'live' : asked
  const live = at === 'live'

  const data = useGet('state', { target, at: live ? undefined : at }, { every: live ? 1000 : 0, keep: true })
  const state = data.value?.target === target ? data.value : undefined
  const before = useBefore(target, at, state)

  const [speed, setSpeed] = useState(0)
  const set = (to: number | 'live', o: { replace?: boolean } = { replace: true }) =>
    setAt(to === 'live' ? null : String(to), o)
  const step = (by: number) => set(moved(at, by, now()))
  useEffect(() => {
    if (speed === 0 || data.loading) return
    const { every, seconds } = stepOf(speed)
    const timer = setTimeout(() => {
      const to = moved(at, live ? Math.min(seconds, -1) : seconds, now())
      if (to === 'live' || to === 0) setSpeed(0)
      set(to)
    }, every)
    return () => clearTimeout(timer)
  }, [speed, at, data.loading])
  const play = (x: number) => {
    if (live && x > 0) return
    setSpeed(speed === x ? 0 : x)
  }
  useMomentKeys(step, () => play(speed === 0 ? 1 : speed))

  return (
    <>
      {unreadable && (
        <Notice tone="warn" action={<a class="button small" href={withParams({ at: null })}>Go to now</a>}>
          The time in the address cannot be read; showing live data. <code>at</code> takes Unix seconds.
        </Notice>
      )}
      {future && (
        <Notice tone="info" action={<a class="button small" href={withParams({ at: null })}>Go to now</a>}>
          The time in the address, {moment(asked, { date: true, seconds: true })}, is in the future; showing live data.
        </Notice>
      )}
      <Timeline key={target} target={target} range={range} at={at}
        shown={state ? Date.parse(state.at) / 1000 : undefined} speed={speed} play={play}
        set={(t, o) => { setSpeed(0); set(t, o) }} step={step} loading={data.loading} up={state?.up} />
      <Body key={target} state={state} before={before} at={at} error={data.error} loading={data.loading}
        reload={data.reload} />
    </>
  )
}

/** The state a second before: in the present the one that was shown, of the past it is asked for. */
function useBefore(target: string, at: number | 'live', state: State | undefined): State | undefined {
  const seen = useRef<{ shown?: State | undefined; before?: State | undefined }>({})
  if (state && state !== seen.current.shown) {
    // The same second can come twice.
    if (state.at !== seen.current.shown?.at) seen.current.before = seen.current.shown
    seen.current.shown = state
  }
  const shownAt = state ? Date.parse(state.at) / 1000 : NaN
  const asked = at !== 'live' && Number.isFinite(shownAt) ? shownAt - 0.5 : undefined
  const past = useGet(asked === undefined ? null : 'state', { target, at: asked })
  if (at !== 'live') return past.value
  return seen.current.before?.target === target ? seen.current.before : undefined
}

/** Space plays, arrows step. Buttons, fields and lists keep these keys for themselves. */
function useMomentKeys(step: (by: number) => void, play: () => void): void {
  const latest = useRef({ step, play })
  latest.current = { step, play }
  // Named here for the help; they are listened to below, for Shift and for buttons that take Space.
  useKeys({
    '← →': { help: '1 s back or forward', run: () => undefined },
    'Shift ← →': { help: '1 min back or forward', run: () => undefined },
    Space: { help: 'play or pause', run: () => undefined },
  })
  useLayoutEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return
      const t = e.target instanceof Element ? e.target : undefined
      if (t?.closest(
        'input:not([type=checkbox]),select,textarea,[contenteditable],[role=tablist],[role=listbox],[role=dialog]'))
        return
      // What scrolls that way continues to do so.
      const part = t?.closest('pre,[role=region]')
      if (part && (e.key === ' ' ? part.scrollHeight > part.clientHeight : part.scrollWidth > part.clientWidth)) return
      if (e.key === 'ArrowLeft' || e.key === 'ArrowRight')
        latest.current.step((e.key === 'ArrowLeft' ? -1 : 1) * (e.shiftKey ? 60 : 1))
      else if (e.key === ' ' && !t?.closest('button,a,summary,input,[role=button]')) latest.current.play()
      else return
      e.preventDefault()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}

interface BodyProps {
  state: State | undefined
  before: State | undefined
  at: number | 'live'
  error: ApiError | undefined
  loading: boolean
  reload: () => void
}

function Body(p: BodyProps) {
  const { state, at } = p
  const [chosen, choose] = useParam('session')
  const [tab] = useParam('tab', 'sessions')
  if (p.error?.status === 404 && at !== 'live' && !p.loading) return <Beyond at={at} error={p.error} />
  if (!state) {
    if (p.error?.status === 503)
      return <Empty icon="activity" title="Waiting for the first sample"
      hint="A target that was just added appears here after its first sample." />
    return p.error ? <Problem error={p.error} retry={p.reload} what="Sample" /> : <Loading lines={8} />
  }
  const roots = tree(state.waits ?? [])
  const pg = isPostgres(state.server)
  const waiting = new Set((state.waits ?? []).map((w) => w.waiter)).size
  const diff = differences(state, p.before)
  // What was not observed has no count: 0 would say that there is none.
  const tied =
    new Set([...(state.transactions ?? []).map((t) => t.session),
    ...(state.waits ?? []).flatMap((w) => [w.waiter, w.blocker])])
  const counted = (n: number, ...sources: string[]): number | null => (lacking(state, ...sources) ? null : n)
  const content = state.up ? (
    <>
      <VitalStrip state={state} before={diff.known ? p.before : undefined} />
      {tab !== 'locks' && roots.length > 0 && <LockBanner roots={roots} state={state} />}
      <Tabs label="Activity views" items={[
          { key: 'sessions', name: 'Sessions',
            count: counted(state.sessions?.filter((x) => !asleep(x) || tied.has(x.id)).length ?? 0, 'processlist') },
          { key: 'locks', name: 'Locks', count: counted(waiting, 'locks') },
          { key: 'transactions', name: 'Transactions',
            count: lackingTransactions(state) ? null : state.transactions?.length ?? 0 },
          { key: 'history', name: 'Lock history' },
          ...(pg ? [] : [{ key: 'innodb', name: 'InnoDB status' }]),
        ]} />
      <div class={chosen === '' ? 'moment' : 'moment open'}>
        <div class="moment-main">
          {tab === 'locks' ? <Locks roots={roots} state={state} />
            : tab === 'transactions' ? <Transactions state={state} chosen={chosen} />
            : tab === 'history' ? <LockHistory target={state.target} server={state.server} />
            : tab === 'innodb' && !pg ? <InnodbTab state={state} />
            : <Sessions state={state} diff={diff} chosen={chosen} />}
        </div>
        {chosen !== '' && <SessionPanel id={chosen} state={state} at={at} onClose={() => choose(null)} />}
      </div>
    </>
  ) : (
    <Empty icon={state.login_refused ? 'warn' : 'bad'}
      title={`The server ${state.login_refused ? 'refused Dyno’s login' : 'did not answer'} at ` +
        `${moment(Date.parse(state.at) / 1000, { seconds: true })}`}
      hint={<><p>{safe(state.reason ?? '')}</p><p>No session data for this time.</p></>} />
  )
  return <Show of={{ value: state, error: p.error?.status === 404 ? undefined : p.error, loading: p.loading,
    at: Date.parse(state.at) / 1000, reload: p.reload }}>{() => content}</Show>
}

function InnodbTab({ state }: { state: State }) {
  const why = lacking(state, 'innodb_status')
  const at = Date.parse(state.at) / 1000
  // It is read every few seconds: of the others the one before counts.
  const near = useData<State | null>(state.innodb_status || why ? null : `innodb\n${state.target}\n${Math.floor(at)}`,
    (signal) => statusBefore(state.target, at, signal), { keep: true })
  const shown = state.innodb_status ? state : near.value
  if (shown?.innodb_status) {
    const read = Date.parse(shown.at) / 1000
    return <Innodb text={shown.innodb_status}
      read={at - read >= 1 ? `Read at ${moment(read, { seconds: true })}, ${span(at - read)} before this second. `
      : ''} />
  }
  if (near.loading) return <Loading lines={6} />
  return (
    <Unobservable what="SHOW ENGINE INNODB STATUS"
      why={why?.reason ?? `It is read every few seconds; none is stored for the ${statusReach} s before this time.`}
      fix={why?.fix ? <code>{why.fix}</code> : undefined} />
  )
}

const statusReach = 30 // seconds

/** The newest state before a moment that has InnoDB's status; null for none. */
async function statusBefore(target: string, at: number, signal: AbortSignal): Promise<State | null> {
  for (let t = at - 1; t > at - statusReach; ) {
    const s = await get('state', { target, at: t }, signal)
    const read = Date.parse(s.at) / 1000
    if (s.innodb_status) return read > at - statusReach ? s : null
    t = Math.min(t, read) - 1
  }
  return null
}

/** Nothing is kept of that moment: say so and offer the nearest. */
function Beyond({ at, error }: { at: number; error: ApiError }) {
  const { before, after } = offered(error.message, at)
  return (
    <Empty icon="activity" title={`No data for ${moment(at, { date: true, seconds: true })}`} hint={
        before === undefined && after === undefined ? (
          'No states of this target are stored, or it was not watched then. States are kept for some days: see ' +
            'Settings, Retention.'
        ) : (
          <>Dyno was not running then, the server was not watched yet, or the data has expired. Nearest times with data:
          </>
        )
      }
      action={
        <div class="choices">
          {before !== undefined && (
            <a class="button" href={withParams({ at: Math.ceil(before) })}>
              <Icon name="left" />
              {moment(before, { date: true, seconds: true })} <span class="faint">{ago(before)}</span>
            </a>
          )}
          {after !== undefined && (
            <a class="button" href={withParams({ at: Math.ceil(after) })}>
              {moment(after, { date: true, seconds: true })} <span class="faint">{ago(after)}</span>
              <Icon name="right" />
            </a>
          )}
          <Button onClick={() => go(href('activity', { at: null }))}>Now</Button>
        </div>
      } />
  )
}

// What stands where something should be: loading, empty, failed, not observable.
import type { ComponentChildren } from 'preact'
import type { ApiError } from '../core/api'
import type { Data } from '../core/data'
import { ago } from '../core/time'
import { Button } from './button'
import { Icon, type IconName } from './icons'
import { safe } from './sqltext'
import './state.css'

/** Grey lines in the place of what comes. */
export function Loading({ lines = 3 }: { lines?: number }) {
  return (
    <div class="loading" role="status" aria-label="loading">
      {Array.from({ length: lines }, (_, i) => (
        <div key={i} class="bone" style={{ width: `${[92, 78, 86, 64, 72][i % 5] ?? 80}%` }} />
      ))}
    </div>
  )
}

/** Nothing is there, and that is an answer: what it means and what to do. */
export function Empty(p: { icon?: IconName; title: string; hint?: ComponentChildren; action?: ComponentChildren }) {
  return (
    <div class="empty">
      {p.icon && <Icon name={p.icon} size={24} />}
      <p class="empty-title">{safe(p.title)}</p>
      {p.hint && <div class="empty-hint">{p.hint}</div>}
      {p.action && <div class="empty-action">{p.action}</div>}
    </div>
  )
}

/** What the server does not tell, why, and what would change that. It is neither zero nor healthy. */
export function Unobservable(p: { what: string; why?: ComponentChildren; fix?: ComponentChildren }) {
  return (
    <div class="unobservable">
      <Icon name="unknown" />
      <div>
        <p><b>{p.what}</b>: unavailable</p>
        {p.why && <p class="dim">{p.why}</p>}
        {p.fix && <div class="fix">{p.fix}</div>}
      </div>
    </div>
  )
}

/** What went wrong, with the hint of who knows, and a way to try again. */
export function Problem({ error, retry, what }: { error: ApiError; retry?: (() => void) | undefined; what?: string }) {
  return (
    <div class="problem" role="alert">
      <Icon name="bad" />
      <div class="grow">
        <p>{what && <b>{what}: </b>}{safe(error.message)}</p>
        {error.hint && <p class="dim">{safe(error.hint)}</p>}
      </div>
      {retry && <Button small icon="reload" onClick={retry}>Try again</Button>}
    </div>
  )
}

/** A remark that stays: a line across the page. */
export function Notice(
  p: { tone: 'good' | 'bad' | 'warn' | 'info' | 'unknown'; children: ComponentChildren; action?: ComponentChildren }) {
  const icon: IconName = p.tone
  return (
    <div class={`notice tone-${p.tone}`} role={p.tone === 'bad' ? 'alert' : 'status'}>
      <Icon name={icon} />
      <div class="grow notice-text">{p.children}</div>
      {p.action}
    </div>
  )
}

/** Shows data in the state it is in. What was there stays, dimmed, when a reload fails. */
export function Show<T>(p: {
  of: Data<T>
  children: (v: T) => ComponentChildren
  empty?: (v: T) => boolean
  none?: ComponentChildren
  lines?: number
  what?: string
}) {
  const { value, error, loading, at, reload } = p.of
  if (value === undefined) {
    if (error) return <Problem error={error} retry={reload} {...(p.what ? { what: p.what } : {})} />
    return loading ? <Loading lines={p.lines ?? 3} /> : null
  }
  const content = p.empty?.(value) ? (p.none ?? <Empty title="No data" />) : p.children(value)
  if (!error) return <>{content}</>
  return (
    <>
      <Notice tone="warn" action={<Button small icon="reload" onClick={reload}>Try again</Button>}>
        <b>As of {at === undefined ? 'before' : ago(at)}.</b> {safe(error.message)}
      </Notice>
      <div class="stale">{content}</div>
    </>
  )
}

// Long work: what runs now, wherever it was started from.
import { computed, signal, type ReadonlySignal } from './signal'
import { useEffect, useState } from 'preact/hooks'
import { Badge, Button, Confirm, Icon, Notice, safe, type Tone } from '../kit'
import { ApiError, get, post } from './api'
import { now } from './clock'
import { figure } from './format'
import type { Task } from './openapi.gen'
import { session, whyNot } from './session'
import { connected, onStream } from './stream'
import { moment, seconds, span } from './time'
import { href } from './url'
import './tasks.css'

const known = signal(new Map<string, Task>())
const seen = new Map<string, number>() // when a task that ran here ended, unix seconds
const linger = 12 // seconds that an ended task stays in the tray
const most = 100 // ended tasks that are remembered

/** All tasks that were heard of, newest first. */
export const tasks: ReadonlySignal<Task[]> =
  computed(() => [...known.value.values()].sort((a, b) => (a.started < b.started ? 1 : -1)))

/** Takes in what a request that started a task answered, so that it is seen at once. */
export function rememberTask(t: Task): void {
  const before = known.value.get(t.id)
  if (before && before.state !== 'running' && t.state === 'running') return // an old message
  // The stream sends the last notes only; a request sends all.
  const notes = before?.notes && t.notes && before.notes.length > t.notes.length && t.state === 'running'
    ? before.notes : t.notes
  if (t.state !== 'running' && before?.state === 'running') seen.set(t.id, now())
  const next = new Map(known.value)
  next.set(t.id, notes ? { ...t, notes } : t)
  known.value = fewer(next)
}

/** All that runs, and of what ended the newest. */
function fewer(all: Map<string, Task>): Map<string, Task> {
  const ended = [...all.values()].filter((t) => t.state !== 'running')
  if (ended.length <= most) return all
  for (const t of ended.sort((a, b) => (a.started < b.started ? 1 : -1)).slice(most)) {
    all.delete(t.id)
    seen.delete(t.id)
  }
  return all
}

/** Those that are still thought to run. Ask for them before the question whose answer says which do. */
export function runningTasks(): string[] {
  return [...known.peek().values()].filter((t) => t.state === 'running').map((t) => t.id)
}

/** Ends tasks of which Dyno says that there are none: they ended with the process that ran them. */
export function lostTasks(ids: string[]): void {
  for (const id of ids) {
    const t = known.peek().get(id)
    if (t?.state === 'running')
      rememberTask({ ...t, state: 'failed', error: 'Dyno was restarted meanwhile',
      hint: 'The journal shows how far it got.', ended: new Date(1000 * now()).toISOString() })
  }
}

function isTask(x: unknown): x is Task {
  return typeof x === 'object' && x !== null && 'id' in x && 'state' in x && 'started' in x
}

/** One task, followed until it ends; undefined until it is known. */
export function useTask(id: string | null | undefined): Task | undefined {
  const t = id ? known.value.get(id) : undefined
  const ended = t !== undefined && t.state !== 'running'
  useEffect(() => {
    if (!id || ended) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const control = new AbortController()
    const ask = async () => {
      try {
        rememberTask(await get('task', { id }, control.signal))
      } catch (e) {
        // It is asked again; who needs to know why shows the state as unknown.
        if (e instanceof ApiError && e.status === 404) {
          lostTasks([id])
          return
        }
      }
      if (!control.signal.aborted) timer = setTimeout(() => void ask(), 1000)
    }
    void ask()
    return () => {
      clearTimeout(timer)
      control.abort()
    }
  }, [id, ended])
  return t
}

/** Runs f when a task of these kinds ends while the component is there. */
export function useTaskEnd(kinds: string[], f: (t: Task) => void): void {
  useEffect(
    () =>
      onStream('task', (x) => {
        if (isTask(x) && x.state !== 'running' && kinds.includes(x.kind)) f(x)
      }),
    [kinds.join(), f])
}

/** Where what came of a task is shown; undefined while there is nothing. */
export function resultOf(t: Task): string | undefined {
  if (t.state === 'running' || (t.result ?? '') === '') return undefined
  const target = { target: t.target ?? null }
  switch (t.kind) {
    case 'diagnose':
      return href('findings', target, [])
    case 'apply':
    case 'undo':
      return href('changes', { ...target, id: t.result }, [])
    case 'prove':
      return href('changes', { ...target, id: t.about }, [])
    case 'recipe':
    case 'experiment':
      return href('experiments', { id: t.result }, [])
  }
  return undefined
}

const words: Record<Task['state'], [Tone, string]> =
  { running: ['info', 'Running'], done: ['good', 'Done'], failed: ['bad', 'Failed'],
  cancelled: ['unknown', 'Cancelled'] }

function TaskBadge({ state }: { state: Task['state'] }) {
  const [tone, word] = words[state]
  return <Badge tone={tone}>{word}</Badge>
}

/** How far a task is: step, share, what is left, and with notes what happened on the way. */
export function TaskProgress({ task, notes }: { task: Task; notes?: boolean }) {
  const [asking, ask] = useState(false)
  const f = task.fraction
  const running = task.state === 'running'
  const left = task.left_seconds
  const all = task.notes ?? []
  return (
    <div class="task">
      <div class="task-head">
        {running ? <span class="task-dot" aria-hidden="true" /> : <TaskBadge state={task.state} />}
        <span class="task-title">{safe(task.title)}</span>
        {task.by && task.by !== 'local' && <span class="faint">by {safe(task.by)}</span>}
        {running && (
          <Button small kind="quiet" icon="stop" why={whyNot()} label={'Cancel: ' + safe(task.title)}
            onClick={() => ask(true)}>
            Cancel
          </Button>
        )}
      </div>
      {running && (
        <>
          <div class={`task-bar${f === undefined ? ' unknown' : ''}`} role="progressbar" aria-label={safe(task.title)}
            aria-valuemin={0} aria-valuemax={100} aria-valuenow={f === undefined ? undefined : Math.round(f * 100)}>
            <span style={{ width: `${(f ?? 0) * 100}%` }} />
          </div>
          <div class="task-line dim">
            <span>{safe(task.step || 'starting')}</span>
            <span class="nowrap">
              {f !== undefined && `${figure(f, 'ratio').value} %`}
              {left !== undefined && ` · ${span(left)} left`}
              {f === undefined && ` for ${span(Math.max(0, now() - seconds(task.started)))}`}
            </span>
          </div>
        </>
      )}
      {task.error && (
        <Notice tone={task.state === 'cancelled' ? 'unknown' : 'bad'}>
          {safe(task.error)} {task.hint && <span class="dim">{safe(task.hint)}</span>}
        </Notice>
      )}
      {notes && all.length > 0 && (
        <ol class="task-notes" aria-label="Events">
          {all.slice(-12).map((n, i) => (
            <li key={i}><time class="faint">{moment(seconds(n.at), { seconds: true })}</time> {safe(n.text)}</li>
          ))}
        </ol>
      )}
      {asking && (
        <Confirm title="Cancel this?" yes="Cancel the task" danger
          run={async () => rememberTask(await post('task/cancel', { id: task.id }))} onClose={() => ask(false)}>
          <p>{safe(task.title)}</p>
          <p class="dim">It stops after cleaning up; what the server has already done is in the journal.</p>
        </Confirm>
      )}
    </div>
  )
}

/** What runs, in a corner of every page; nothing when nothing does. */
export function TaskTray() {
  const [open, setOpen] = useState(false)
  const [, again] = useState(0)
  const who = session.value
  const live = connected.value === 'live'
  useEffect(() => {
    if (who === null) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const control = new AbortController()
    const off = onStream('task', (x) => {
      if (isTask(x)) rememberTask(x)
    })
    const load = async () => {
      if (!document.hidden)
        try {
          const before = runningTasks()
          const list = (await get('tasks', {}, control.signal)).tasks
          for (const t of list.reverse()) rememberTask(t)
          const here = new Set(list.map((t) => t.id))
          lostTasks(before.filter((id) => !here.has(id)))
        } catch {
          // the page says elsewhere that Dyno does not answer
        }
      // The stream reports what is new; this is for what it missed, before it came or came back.
      if (!control.signal.aborted) timer = setTimeout(() => void load(), live ? 30_000 : 3000)
    }
    void load()
    return () => {
      off()
      clearTimeout(timer)
      control.abort()
    }
  }, [who === null, live])
  const all = tasks.value.filter((t) => t.state === 'running' || now() - (seen.get(t.id) ?? 0) < linger)
  const running = all.filter((t) => t.state === 'running')
  useEffect(() => {
    if (all.length === running.length) return
    const timer = setTimeout(() => again((n) => n + 1), 1000 * linger)
    return () => clearTimeout(timer)
  }, [all.length, running.length])
  if (all.length === 0) return null
  const first = running[0] ?? all[0]
  if (!first) return null
  return (
    <section class={`tray${open ? ' open' : ''}`} aria-label="Running tasks">
      <button class="tray-head" type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {first.state === 'running' ? <span class="task-dot" aria-hidden="true" /> : <TaskBadge state={first.state} />}
        <span class="tray-title" aria-live="polite">
          {running.length > 1 ? `${running.length} tasks run` : safe(first.title)}
        </span>
        {first.state === 'running' && running.length === 1 && (
          <span class="dim nowrap">
            {first.fraction !== undefined && `${Math.round(first.fraction * 100)} %`}
            {first.left_seconds !== undefined && ` · ${span(first.left_seconds)} left`}
          </span>
        )}
        <Icon name={open ? 'down' : 'up'} size={14} />
      </button>
      {open && (
        <ul class="tray-list">
          {all.map((t) => (
            <li key={t.id}><TaskProgress task={t} />{resultOf(t) && <a href={resultOf(t)}>Show the result</a>}</li>
          ))}
        </ul>
      )}
    </section>
  )
}

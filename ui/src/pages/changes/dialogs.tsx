// Carrying a change out, and taking it back: first what it would mean, then what has to be typed, then the work.
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { ApiError, post, text, useData, whyNot, type Body, type Data, type Done } from '../../core'
import { rememberTask, resultOf, TaskProgress, useTask } from '../../core/tasks'
import { Button, Copy, Dialog, Icon, Loading, Problem, safe, Sql, useRun, type IconName } from '../../kit'
import type { Action, Task } from '../../core/openapi.gen'
import './dialogs.css'

/** What has to be typed before something is done: the table or the variable that it changes, else the target's name. */
function wordFor(a: Pick<Action, 'table' | 'variable'>, target: string): string {
  return a.table?.table || a.variable || target
}

/**
 * Asks once for what would be done, and again when asked to: what was shown before is gone then, for it is no longer
 * sure.
 */
function usePreview<P extends 'apply' | 'undo'>(
  path: P, body: Body<P>): Pick<Data<Exclude<Done<P>, Task>>, 'value' | 'error' | 'reload'> {
  const [turn, again] = useState(0)
  const { value, error } = useData(`${turn} ${path} ${JSON.stringify(body)}`,
    (signal) => post(path, body, signal) as Promise<Exclude<Done<P>, Task>>)
  return { value, error, reload: () => again((n) => n + 1) }
}

/** The dialog of both: it previews, asks for the word, executes, and follows the task. */
function Act(p: {
  title: string
  word: string
  verb: string
  path: 'apply' | 'undo'
  body: Body<'apply'> | Body<'undo'>
  sql: string | undefined // of the preview; undefined until it is there
  against: string[]
  error: ApiError | undefined
  reload: () => void
  onClose: () => void
  children: ComponentChildren
}) {
  const [typed, type] = useState('')
  const [taskID, follow] = useState<string>()
  const { busy, error: failed, run: once } = useRun()
  const id = useId()
  const task = useTask(taskID)
  const word = safe(p.word) // what is shown can be typed
  const said = typed.trim() === word || typed.trim() === p.word
  const why = whyNot() || (p.sql === undefined ? 'the preview is loading'
    : p.against.length > 0 ? 'see what blocks it' : !said ? `type ${word} first` : busy ? 'starting' : '')
  const run = () =>
    once(async () => {
      try {
        const t = (await post(p.path, { ...p.body, execute: true, confirm: p.sql })) as Task
        rememberTask(t)
        follow(t.id)
      } catch (e) {
        type('')
        if (e instanceof ApiError && e.status === 409) p.reload() // what was shown is no longer so
        throw e
      }
    })
  if (taskID !== undefined) {
    const to = task && resultOf(task)
    return (
      <Dialog title={p.title} wide onClose={p.onClose} foot={
          <>
            {task?.state === 'running' && <span class="dim grow">It continues when this is closed.</span>}
            {to && <a class="button b-main" href={to} onClick={p.onClose}>Open in Changes</a>}
            <Button onClick={p.onClose}>Close</Button>
          </>
        }>
        {task ? <TaskProgress task={task} notes /> : <Loading lines={2} />}
        {task?.state === 'done' && <p class="act-done"><Icon name="good" /> Done and verified on the server.</p>}
      </Dialog>
    )
  }
  return (
    <Dialog title={p.title} wide lock onClose={p.onClose} foot={
        <>
          <Button onClick={p.onClose}>Cancel</Button>
          <Button kind="danger" why={why} onClick={() => void run()}>{p.verb}</Button>
        </>
      }>
      <form class="stack act" onSubmit={(e) => {
          e.preventDefault()
          if (why === '') void run()
        }}>
        {failed && <Problem error={failed} />}
        {p.error && <Problem error={p.error} retry={p.reload} />}
        {p.sql === undefined && !p.error && <Loading lines={4} />}
        {p.children}
        {p.sql !== undefined && p.against.length === 0 && (
          <div class="act-type">
            <label for={id}>To confirm, type <code>{word}</code></label>
            <input id={id} class="input" value={typed} autocomplete="off" autocapitalize="off" spellcheck={false}
              onInput={(e) => type(e.currentTarget.value)} />
          </div>
        )}
      </form>
    </Dialog>
  )
}

function Points({ of, icon, tone, name }: { of: string[] | undefined; icon: IconName; tone: string; name: string }) {
  if (!of || of.length === 0) return null
  return (
    <ul class="act-points" aria-label={name}>
      {of.map((x, i) => (
        <li key={i}>
          <span class={'tone-' + tone}><Icon name={icon} size={14} /></span>
          <span><span class="hide">{name}: </span>{safe(x)}</span>
        </li>
      ))}
    </ul>
  )
}

/** A statement under its name, to copy. */
export function Statement({ name, sql, copy }: { name: string; sql: string; copy?: string }) {
  return (
    <div>
      <div class="act-head"><h3>{name}</h3><Copy text={sql + ';'} bare label={copy ?? 'Copy: ' + name} /></div>
      <Sql text={sql + ';'} />
    </div>
  )
}

function MayBlock(p: { on: boolean; set: (on: boolean) => void }) {
  return (
    <label class="row">
      <input type="checkbox" checked={p.on} onChange={(e) => p.set(e.currentTarget.checked)} />
      Allow blocking writes to the table if the server cannot change it online
    </label>
  )
}

/** Shows what carrying out a finding's change would mean, and does it when its word is typed. */
export function ApplyDialog(
  p: { target: string; finding: string; title: string; action: Action; onClose: () => void }) {
  const [blocking, setBlocking] = useState(false)
  const body = { target: p.target, finding: p.finding, blocking }
  const s = usePreview('apply', body)
  const v = s.value?.preview
  const facts: [string, string][] = []
  if (v) {
    if (v.rows !== undefined) facts.push(['Rows', '≈ ' + text(v.rows, '')])
    if (v.table_bytes !== undefined) facts.push(['Table', text(v.table_bytes, 'B')])
    if (v.bytes !== undefined) facts.push(['Adds', '≈ ' + text(v.bytes, 'B')])
    if (v.seconds_low !== undefined && v.seconds_high !== undefined)
      facts.push(['Takes', v.seconds_high < 1 ? 'less than a second'
      : `${text(Math.max(0.1, v.seconds_low), 's')} to ${text(v.seconds_high, 's')}`])
  }
  const against = v?.blockers ?? []
  return (
    <Act title={p.title} word={wordFor(v?.action ?? p.action, p.target)} verb={`Apply on ${safe(p.target)}`}
      path="apply" body={body} sql={v?.action.sql} against={against} error={s.error} reload={s.reload}
      onClose={p.onClose}>
      {v && (
        <>
          <p>{safe(v.words)}</p>
          <Statement name="Statement" sql={v.action.sql} />
          {v.action.undo ? <Statement name="Undo statement" sql={v.action.undo} />
            : <p class="dim">No undo is needed.</p>}
          {facts.length > 0 && (
            <dl class="act-facts">{facts.map(([k, x]) => <div key={k}><dt>{k}</dt><dd>{x}</dd></div>)}</dl>
          )}
          <Points of={against} icon="bad" tone="bad" name="Blocked by" />
          <Points of={v.warnings} icon="warn" tone="warn" name="Note" />
          {(against.length > 0 || blocking) && v.action.table?.table && <MayBlock on={blocking} set={setBlocking} />}
          <p class="dim">The undo statement is recorded before anything runs. Nothing has been changed so far.</p>
        </>
      )}
    </Act>
  )
}

/** Shows what taking an action back would mean on the server as it is now, and does it when its word is typed. */
export function UndoDialog(p: { id: string; text: string; target: string; action: Action; onClose: () => void }) {
  const [blocking, setBlocking] = useState(false)
  const body = { id: p.id, blocking }
  const s = usePreview('undo', body)
  const v = s.value
  const against = v?.blockers ?? []
  return (
    <Act title={'Undo: ' + p.text} word={wordFor(p.action, p.target)} verb={`Undo on ${safe(p.target)}`} path="undo"
      body={body} sql={v?.sql} against={against} error={s.error} reload={s.reload} onClose={p.onClose}>
      {v && (
        <>
          {v.sql !== '' && <Statement name="Statement" sql={v.sql} />}
          <Points of={against} icon="bad" tone="bad" name="Blocked by" />
          <Points of={v.warnings} icon="info" tone="info" name="Note" />
          {(against.length > 0 || blocking) && p.action.table?.table && <MayBlock on={blocking} set={setBlocking} />}
          <p class="dim">Runs only if the change is still in effect, unmodified. Nothing has been changed so far.</p>
        </>
      )}
    </Act>
  )
}

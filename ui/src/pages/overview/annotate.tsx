import { useState } from 'preact/hooks'
import { moment, post } from '../../core'
import { Button, Dialog, Problem, toast, useRun } from '../../kit'

/** Asks for a note and puts it on the timeline. */
export function Annotate(
  { target, at, onClose, onDone }: { target: string; at: number; onClose: () => void; onDone: () => void }) {
  const [text, setText] = useState('')
  const { busy, error, run } = useRun()
  const save = async () => {
    if (text.trim() === '' ||
      !(await run(
      () => post('annotate', { text: text.trim(), target, at: new Date(Math.round(at) * 1000).toISOString() })))) return
    toast('Note added to the timeline', 'good')
    onDone()
    onClose()
  }
  return (
    <Dialog title={`Note on ${target}`} onClose={onClose} foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" disabled={busy || text.trim() === ''} onClick={() => void save()}>Add note</Button>
        </>
      }>
      <form class="stack" onSubmit={(e) => {
          e.preventDefault()
          void save()
        }}>
        <label>
          <span class="dim">What happened at {moment(at, { seconds: true, date: true })}</span>
          <input autofocus class="input" maxLength={500} value={text} onInput={(e) => setText(e.currentTarget.value)}
            placeholder="deployed 4.2" />
        </label>
        {error && <Problem error={error} />}
      </form>
    </Dialog>
  )
}

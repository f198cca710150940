import { useMemo, useState } from 'preact/hooks'
import { Button } from './button'
import { pieces, type Piece } from './sqltext'
import './sql.css'

const fold = 20_000 // characters shown at first: a statement may have a megabyte

/**
 * A statement, as text and nothing else: whatever is in it is shown, never run. Characters that turn the direction of
 * writing, hide or control are shown by their names. lines cuts what is longer, until it is opened.
 */
export function Sql({ text, lines, plain }: { text: string; lines?: number; plain?: boolean }) {
  const [open, setOpen] = useState(false)
  const long = text.length > fold
  const shown = long && !open ? text.slice(0, fold) : text.slice(0, 2_000_000)
  // Colours for what a person reads; a megabyte is only made safe.
  const parts = useMemo<Piece[]>(() => pieces(shown, plain === true || shown.length > 4 * fold), [shown, plain])
  return (
    <div class="sql">
      <pre class={lines !== undefined && !open ? 'sql-text clamped' : 'sql-text'}
        style={lines !== undefined && !open ? { '-webkit-line-clamp': String(lines) } : {}} dir="ltr">
        {parts.map((p, i) =>
          p.kind === '' ? (p.text) : <span key={i} class={'sql-' + p.kind} title={p.title}>{p.text}</span>,
        )}
        {long && !open && '…'}
      </pre>
      {long && (
        <Button small kind="quiet" onClick={() => setOpen(!open)}>
          {open ? 'Show less' : `Show all ${Math.round(text.length / 1000)} 000 characters`}
        </Button>
      )}
    </div>
  )
}

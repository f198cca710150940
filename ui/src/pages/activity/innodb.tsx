import { useMemo } from 'preact/hooks'
import { Copy, safe } from '../../kit'
import { sections } from './status'

const opened = new Set(['SEMAPHORES', 'LATEST DETECTED DEADLOCK', 'TRANSACTIONS'])

/** SHOW ENGINE INNODB STATUS, a section each that folds; read says when it was read, if not in this second. */
export function Innodb({ text, read }: { text: string; read: string }) {
  const list = useMemo(() => sections(text), [text])
  return (
    <div class="innodb">
      <div class="row">
        <span class="dim grow">{read}Verbatim server output, including the values in lock records.</span>
        <Copy text={text} label="Copy all" />
      </div>
      {list.map((s) => (
        <details key={s.title} open={opened.has(s.title)} class="panel">
          <summary>
            <h3>{safe(s.title) || 'Before the first section'}</h3>
            <span class="faint">{s.text === '' ? 'empty' : `${s.text.split('\n').length} lines`}</span>
          </summary>
          {s.text !== '' && <pre class="innodb-text" tabIndex={0} aria-label={s.title}>{safe(s.text)}</pre>}
        </details>
      ))}
    </div>
  )
}

import { useState } from 'preact/hooks'
import { ago, asError, href, now, post, seconds, text, whyNot } from '../../core'
import { rememberTask, useTask } from '../../core/tasks'
import { Badge, Button, safe, toast, type Tone } from '../../kit'
import type { Row } from './rows'

const tones: Record<string, Tone> = { critical: 'bad', warning: 'warn' }

/** The worst that was found, or that nothing was, or that it was not diagnosed yet. */
export function Finding({ row: r, judging }: { row: Row; judging: boolean }) {
  const [asked, setAsked] = useState<string>() // the task, '' until it is known
  const task = useTask(asked)
  const looking = asked !== undefined && (task === undefined || task.state === 'running')
  const v = r.diagnosis
  if (r.silent) {
    return <span class="tone-warn nowrap">last reading {r.at === undefined ? '' : `${Math.round(now() - r.at)} s ago`}
    </span>
  }
  if (v === undefined) {
    if (r.up !== true)
      return <span class="faint">
      {r.barred ? r.barred : r.up === undefined ? 'not tried yet' : 'not diagnosed while down'}</span>
    return (
      <span class="finding-none">
        <span class="faint">not diagnosed yet</span>
        {judging && (
          <Button small why={whyNot()} disabled={looking} onClick={() => {
              setAsked('')
              post('diagnose', { target: r.name }).then(
                (t) => {
                  rememberTask(t)
                  setAsked(t.id)
                },
                (e: unknown) => {
                  setAsked(undefined)
                  toast(asError(e).message, 'bad')
                },
              )
            }}>
            {looking ? 'Diagnosing…' : 'Diagnose'}
          </Button>
        )}
      </span>
    )
  }
  if (v.count === 0)
    return (
      <a class="finding finding-quiet" href={href('findings', { target: r.name })}>
        no open findings <span class="faint nowrap">{ago(seconds(v.at))}</span>
      </a>
    )
  return (
    <a class="finding" href={href('findings', { target: r.name })} title={safe(v.worst ?? '')}>
      <Badge tone={tones[v.severity ?? ''] ?? 'info'}
        icon={v.severity === 'critical' || v.severity === 'warning' ? 'warn' : 'info'}>{v.severity ?? 'finding'}</Badge>
      <span class="cut">{safe(v.worst ?? '')}</span>
      {v.last_seen !== undefined && seconds(v.last_seen) < seconds(v.at) - 1 &&
        <span class="faint nowrap" title="not in the newest diagnosis">last seen {ago(seconds(v.last_seen))}</span>}
      {v.share > 0 && <span class="faint nowrap" title="share of statement time">{text(v.share, 'ratio')}</span>}
      {v.count > 1 && <span class="faint nowrap">+{v.count - 1}</span>}
    </a>
  )
}

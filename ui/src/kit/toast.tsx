import { signal } from '../core/signal'
import { Button } from './button'
import { Icon } from './icons'
import { safe } from './sqltext'
import './toast.css'

type Tone = 'good' | 'bad' | 'warn' | 'info'
interface Toast { id: number; text: string; tone: Tone }
const shown = signal<Toast[]>([])
let next = 1

/** Says something for some seconds; what is bad stays until it is closed. */
export function toast(text: string, tone: Tone = 'info'): void {
  const id = next++
  shown.value = [...shown.value.slice(-3), { id, text, tone }]
  if (tone !== 'bad') setTimeout(() => drop(id), 6000)
}

function drop(id: number): void {
  shown.value = shown.value.filter((t) => t.id !== id)
}

/** Where they appear; once, in the shell. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map((t) => (
        <div key={t.id} class={`toast tone-${t.tone}`}>
          <Icon name={t.tone} />
          <span class="grow">{safe(t.text)}</span>
          <Button kind="quiet" small icon="close" label="Dismiss" onClick={() => drop(t.id)} />
        </div>
      ))}
    </div>
  )
}

import { signal } from '../core/signal'
import { keyLayers } from '../core/keys'
import { Dialog } from './dialog'
import './help.css'

export const helpOpen = signal(false)

/** Every key that acts here. */
export function Help() {
  if (!helpOpen.value) return null
  const all = new Map<string, string>()
  for (const l of keyLayers.value) for (const [k, x] of Object.entries(l)) if (!all.has(k)) all.set(k, x.help)
  const keys = [...all].sort(([a], [b]) => Number(a.includes(' ')) - Number(b.includes(' ')) || a.localeCompare(b))
  const list = (some: [string, string][]) => (
    <dl class="keys">
      {some.map(([k, help]) => (
        <div key={k}><dt>{k.split(' ').map((x) => <kbd key={x}>{x}</kbd>)}</dt><dd>{help}</dd></div>
      ))}
    </dl>
  )
  return (
    <Dialog title="Keyboard" onClose={() => (helpOpen.value = false)}>
      <div class="help">
        <section>
          <h3>This page</h3>
          {list([...keys.filter(([k]) => !k.includes(' ')), ['Tab', 'next button or row'], ['Enter', 'open it'],
            ['Esc', 'close']])}
        </section>
        <section><h3>Go to</h3>{list(keys.filter(([k]) => k.includes(' ')))}</section>
      </div>
    </Dialog>
  )
}

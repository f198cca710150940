// The keyboard: single keys ("/"), and pairs ("g q").
import { signal } from './signal'
import { useLayoutEffect, useRef } from 'preact/hooks'

export interface Key { help: string; run: () => void }

let layers: Record<string, Key>[] = [] // the newest is asked first
let first = '' // of a pair
let firstAt = 0

/** What is registered, for the help; it changes with the page. */
export const keyLayers = signal<Record<string, Key>[]>([])

/** Keys of a component while it is there. They do not act while someone types, nor under an open dialog. */
export function useKeys(keys: Record<string, Key>): void {
  const latest = useRef(keys)
  latest.current = keys
  const names = Object.keys(keys).join('\n')
  useLayoutEffect(() => {
    const layer: Record<string, Key> = {}
    for (const k of Object.keys(latest.current))
      layer[k] = { get help() { return latest.current[k]?.help ?? '' }, run: () => latest.current[k]?.run() }
    layers = [layer, ...layers]
    keyLayers.value = layers
    return () => {
      layers = layers.filter((l) => l !== layer)
      keyLayers.value = layers
    }
  }, [names])
}

/** The action for a key after what was pressed before; '' as pending when none begins so. */
export function match(all: Record<string, Key>[], before: string, key: string): { run?: Key; pending: string } {
  const pair = before === '' ? '' : before + ' ' + key
  if (pair !== '') {
    for (const l of all) {
      const k = l[pair]
      if (k) return { run: k, pending: '' }
    }
    return { pending: '' }
  }
  for (const l of all) {
    const k = l[key]
    if (k) return { run: k, pending: '' }
  }
  for (const l of all) if (Object.keys(l).some((k) => k.startsWith(key + ' '))) return { pending: key }
  return { pending: '' }
}

/** Whether keys are text here. */
export function typing(t: EventTarget | null): boolean {
  if (!(t instanceof HTMLElement)) return false
  if (t.isContentEditable || t instanceof HTMLTextAreaElement || t instanceof HTMLSelectElement) return true
  return t instanceof HTMLInputElement && !['checkbox', 'radio', 'button', 'submit', 'range'].includes(t.type)
}

/** Begins to listen; called once. */
export function followKeys(): void {
  let taken = false // the key that is down was one of ours: it writes nothing into the field that it led to
  document.addEventListener('keypress', (e) => {
    if (taken) e.preventDefault()
  }, true)
  document.addEventListener('keyup', () => { taken = false }, true)
  document.addEventListener('keydown', (e) => {
    taken = false
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || typing(e.target)) return
    if (document.querySelector('dialog[open]')) return
    if (e.key === 'Shift') return
    const before = Date.now() - firstAt < 1500 ? first : ''
    const m = match(layers, before, e.key)
    first = m.pending
    firstAt = Date.now()
    if (m.run) {
      e.preventDefault()
      taken = true
      m.run.run()
    }
  })
}

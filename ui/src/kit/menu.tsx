import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icons'
import './menu.css'

/** A button that opens something beneath it. Esc, a click elsewhere and leaving with Tab close it. */
export function Menu(
  p: { label: string; icon?: IconName; text: ComponentChildren; align?: 'left'
  | 'right'; class?: string; children: (close: () => void) => ComponentChildren }) {
  const [open, setOpen] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const close = () => {
    setOpen(false)
    button.current?.focus()
  }
  // It listens as soon as it is seen: who is quick must not find it deaf.
  useLayoutEffect(() => {
    if (!open) return
    const away = (e: Event) => {
      if (e.target instanceof Node && !box.current?.contains(e.target)) setOpen(false)
    }
    const esc = (e: KeyboardEvent) => {
      if (e.key !== 'Escape') return
      e.preventDefault()
      close()
    }
    document.addEventListener('mousedown', away)
    document.addEventListener('focusin', away)
    document.addEventListener('keydown', esc, true) // before the keys of the page
    return () => {
      document.removeEventListener('mousedown', away)
      document.removeEventListener('focusin', away)
      document.removeEventListener('keydown', esc, true)
    }
  }, [open])
  return (
    <div class={`menu ${p.class ?? ''}`} ref={box}>
      <button ref={button} type="button" class="button menu-button" title={p.label} aria-expanded={open}
        aria-haspopup="dialog" onClick={() => setOpen(!open)}>
        {p.icon && <Icon name={p.icon} />}
        <span class="hide">{p.label}: </span>
        <span class="cut">{p.text}</span>
        <Icon name="down" size={12} />
      </button>
      {open && (
        <div class={`menu-sheet ${p.align ?? 'left'}`} role="dialog" aria-label={p.label}>{p.children(close)}</div>
      )}
    </div>
  )
}

import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Button } from './button'
import { useRun } from './run'
import { safe } from './sqltext'
import { Problem } from './state'
import './dialog.css'

/** A dialog over the page. The browser keeps the focus inside and gives it back; Esc and a click outside close it. */
export function Dialog(
  p: { title: string; onClose: () =>
  void; children: ComponentChildren; foot?: ComponentChildren; wide?: boolean; lock?: boolean }) {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const d = box.current
    const before = document.activeElement
    d?.showModal()
    d?.querySelector<HTMLElement>('[autofocus]')?.focus()
    return () => {
      d?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog ref={box} class={`dialog${p.wide ? ' wide' : ''}`} aria-labelledby={id} onCancel={(e) => {
        e.preventDefault()
        p.onClose()
      }}
      onMouseDown={(e) => {
        if (e.target === box.current && !p.lock) p.onClose()
      }}>
      <div class="dialog-box">
        <header class="dialog-head">
          <h2 id={id}>{safe(p.title)}</h2>
          <Button kind="quiet" small icon="close" label="Close" onClick={p.onClose} />
        </header>
        <div class="dialog-body">{p.children}</div>
        {p.foot && <footer class="dialog-foot">{p.foot}</footer>}
      </div>
    </dialog>
  )
}

/** Asks before something is done. run may take its time; what it throws is shown and the dialog stays. */
export function Confirm(
  p: { title: string; children: ComponentChildren; yes: string; danger?: boolean; why?: string; run: () =>
  Promise<void> | void; onClose: () => void }) {
  const { busy, error, run } = useRun()
  const yes = async () => {
    if (await run(async () => p.run())) p.onClose()
  }
  return (
    <Dialog title={p.title} onClose={p.onClose} lock foot={
        <>
          <Button onClick={p.onClose}>Cancel</Button>
          <Button kind={p.danger ? 'danger' : 'main'} why={p.why ?? ''} disabled={busy} onClick={() => void yes()}>
            {p.yes}
          </Button>
        </>
      }>
      <div class="stack">{p.children}{error && <Problem error={error} />}</div>
    </Dialog>
  )
}

import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icons'
import './button.css'

export interface ButtonProps {
  children?: ComponentChildren
  onClick?: (() => void) | undefined
  icon?: IconName
  label?: string // read aloud, and shown on hover; needed without words
  kind?: 'plain' | 'main' | 'danger' | 'quiet'
  small?: boolean
  disabled?: boolean
  why?: string // why it is disabled: '' is not disabled
  submit?: boolean
  pressed?: boolean
  class?: string
}

/**
 * A button. With why it is disabled and says so: it keeps its place for the keyboard, so that the reason can be read.
 */
export function Button(p: ButtonProps) {
  const off = p.disabled === true || (p.why ?? '') !== ''
  return (
    <button type={p.submit ? 'submit' : 'button'} class={`button b-${p.kind ?? 'plain'}${p.small ? ' b-small' : ''}` +
        `${p.children === undefined ? ' b-bare' : ''} ${p.class ?? ''}`}
      aria-disabled={off || undefined} aria-label={p.label} aria-pressed={p.pressed} title={p.why || p.label}
      onClick={(e) => {
        if (off) e.preventDefault()
        else p.onClick?.()
      }}>
      {p.icon && <Icon name={p.icon} />}
      {p.children !== undefined && <span>{p.children}</span>}
    </button>
  )
}

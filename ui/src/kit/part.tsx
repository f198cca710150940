// Parts that many pages have.
import type { ComponentChildren } from 'preact'
import { address } from '../core/api'
import { Icon } from './icons'
import './part.css'

/** A panel with a head: its title, and what is to be known of it at once. */
export function Panel(p: { title: string; sub?: ComponentChildren; class?: string; children: ComponentChildren }) {
  return (
    <section class={`panel ${p.class ?? ''}`} aria-label={p.title}>
      <header><h2>{p.title}</h2>{p.sub && <span class="dim">{p.sub}</span>}</header>
      {p.children}
    </section>
  )
}

/** The report of a diagnosis, a proof, a run or an experiment, as a page of its own. */
export function ReportLink(p: { id: string; button?: boolean; children?: ComponentChildren }) {
  return (
    <a class={p.button ? 'button' : 'out'} href={address('report.html', { id: p.id })} target="_blank" rel="noreferrer">
      {p.button && <Icon name="external" />}
      {p.button ? <span>{p.children}</span> : p.children}
      {!p.button && <Icon name="external" size={12} />}
    </a>
  )
}

/** The way back to a list. */
export function Crumb(p: { href: string; children: ComponentChildren }) {
  return <nav class="crumb" aria-label="Back"><a href={p.href}><Icon name="left" size={13} /> {p.children}</a></nav>
}

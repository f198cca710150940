// What is long and seldom wanted: built when it is opened, and cut where hardly anyone reads on.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { count } from '../core/format'
import { Button } from './button'

/** A part that is closed at first. What is in it is built when it is opened, and stays then. */
export function Fold(
  p: { head: ComponentChildren; open?: boolean; class?: string; children: () => ComponentChildren }) {
  const [seen, see] = useState(p.open === true)
  return (
    <details class={p.class} open={p.open} onToggle={(e) => {
        if (e.currentTarget.open) see(true)
      }}>
      <summary>{p.head}</summary>
      {seen && p.children()}
    </details>
  )
}

const most = 500

/** The first 500 of a list, and a line that says so and gives 500 more; nothing where all are there. */
export function useCut<T>(all: readonly T[]): [readonly T[], ComponentChildren] {
  const [n, set] = useState(most)
  if (all.length <= n) return [all, null]
  return [
    all.slice(0, n),
    <p class="row faint">
      The first {count(n)} of {count(all.length)}.
      <Button small onClick={() => set(n + most)}>Show {Math.min(most, all.length - n)} more</Button>
    </p>,
  ]
}

// The time is the server's: figures carry its clock, and a browser's may be minutes off.
import { signal, type ReadonlySignal } from './signal'

let offset = 0 // seconds that the server is ahead
const ticking = signal(Math.floor(Date.now() / 1000))

/** The present second, moving while the page is looked at. */
export const second: ReadonlySignal<number> = ticking

/** Now, in unix seconds of the server. */
export function now(): number {
  return Date.now() / 1000 + offset
}

/** Learns from the header Date of an answer. It has whole seconds, so small differences are none. */
export function observeClock(date: string | null): void {
  const t = date === null ? NaN : Date.parse(date) / 1000
  if (Number.isNaN(t)) return
  const d = t + 0.5 - Date.now() / 1000
  if (Math.abs(d - offset) > 2) offset = Math.abs(d) > 2 ? d : 0
}

/** Begins to tick; called once. */
export function followClock(): void {
  const tick = () => {
    if (!document.hidden) ticking.value = Math.floor(now())
  }
  tick()
  setInterval(tick, 1000)
  document.addEventListener('visibilitychange', tick)
}

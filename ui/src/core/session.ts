// Who is looking, and what they may do.
import { computed, signal, type ReadonlySignal } from './signal'
import type { Who as Session } from './openapi.gen'

const current = signal<Session | null>(null)

/** Null until it is known, and while a login is needed. */
export const session: ReadonlySignal<Session | null> = current

/** Whether this session may change something. Buttons that do are shown disabled, with the reason, when it may not. */
export function mayChange(): boolean {
  const s = current.value
  return s !== null && s.role === 'operator' && !s.read_only
}

/** Why it may not; '' when it may. */
export function whyNot(): string {
  const s = current.value
  if (s === null) return 'log in first'
  if (s.read_only) return 'this Dyno runs with --read-only'
  if (s.role !== 'operator') return 'only an operator may do this'
  return ''
}

/**
 * A reading older than this many seconds is said to be old: three times the slowest cadence of a target that is well.
 */
export function oldAfter(): number {
  return Math.max(15, 3 * (current.value?.every_seconds ?? 0))
}

export function setSession(s: Session | null): void {
  current.value = s
}

interface Wanted { done: () => void; refuse: (e: unknown) => void }
const waiting = signal<Wanted[]>([])

/** True while requests wait for a login: the shell shows the dialog. */
export const loginWanted: ReadonlySignal<boolean> = computed(() => waiting.value.length > 0)

/** Waits until someone has logged in. */
export function login(signal?: AbortSignal): Promise<void> {
  return new Promise((done, refuse) => {
    const w = { done, refuse }
    signal?.addEventListener('abort', () => {
      waiting.value = waiting.value.filter((x) => x !== w)
      refuse(new DOMException('aborted', 'AbortError'))
    })
    waiting.value = [...waiting.value, w]
  })
}

/** Wakes those who wait for a session; call it after setSession. */
export function loggedIn(): void {
  const all = waiting.peek()
  waiting.value = []
  for (const w of all) w.done()
}

/** Those who wait get an error: the user closed the dialog. */
export function loginRefused(e: unknown): void {
  const all = waiting.peek()
  waiting.value = []
  for (const w of all) w.refuse(e)
}

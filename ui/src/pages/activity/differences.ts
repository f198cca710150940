import type { Session, State } from '../../core/openapi.gen'
// What became otherwise from one second to the next.

type Difference = 'new' | 'statement' | 'waits' | 'phase'

export interface Differences {
  sessions: Map<number, Difference>
  ended: number // sessions that are gone, idle ones not counted
  known: boolean // the second before was there to compare with
}

/**
 * How sessions differ from those a second or a little more before; without a state near enough before, nothing is
 * known.
 */
export function differences(now: State, before: State | undefined): Differences {
  const out: Differences = { sessions: new Map(), ended: 0, known: false }
  if (!before?.up || !now.up) return out
  const d = (Date.parse(now.at) - Date.parse(before.at)) / 1000
  if (!(d > 0 && d <= 5)) return out
  out.known = true
  const old = new Map((before.sessions ?? []).map((s) => [s.id, s]))
  const waited = new Set((before.waits ?? []).map((w) => w.waiter))
  const waits = new Set((now.waits ?? []).map((w) => w.waiter))
  for (const s of now.sessions ?? []) {
    const o = old.get(s.id)
    old.delete(s.id)
    const what = waits.has(s.id) && !waited.has(s.id) ? 'waits'
      : o === undefined ? 'new' : began(s, o, d) ? 'statement' : s.phase !== o.phase ? 'phase' : undefined
    if (what) out.sessions.set(s.id, what)
  }
  for (const o of old.values()) if (o.command !== 'Sleep') out.ended++
  return out
}

/** Whether it runs another statement than before, or the same text again. */
function began(s: Session, o: Session, d: number): boolean {
  return s.command !== o.command || s.sql !== o.sql || s.seconds < o.seconds + d - 1.5
}

export const words: Record<Difference, string> = {
  new: 'new in the last second',
  statement: 'started another statement in the last second',
  waits: 'started waiting for a lock in the last second',
  phase: 'changed state in the last second',
}

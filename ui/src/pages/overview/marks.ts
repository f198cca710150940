// Events of a server, as they lie in a time and as they happen.
import { useEffect } from 'preact/hooks'
import { get, onStream, seconds, useData, type Data } from '../../core'
import type { Event } from '../../core/openapi.gen'
import type { Mark } from '../../graph'
import { safe } from '../../kit/sqltext'

/** An event as a mark. Its text is drawn as it stands, wherever it is shown: what hides or turns is named. */
function mark(e: Event): Mark {
  const m: Mark = { id: e.id ?? `${e.at} ${e.kind} ${e.text}`, at: seconds(e.at), kind: e.kind, text: safe(e.text) }
  const until = seconds(e.until)
  if (!Number.isNaN(until)) m.until = until
  if (e.ref) m.ref = e.ref
  return m
}

/** The events of a window that are drawn; steps keep from and to from moving each second. */
export function useMarks(target: string, from: number | undefined, to: number | undefined,
  live: boolean): Data<Mark[]> {
  const a = from === undefined ? undefined : Math.floor(from / 60) * 60
  const b = to === undefined ? undefined : Math.ceil(to / 60) * 60
  const d = useData<Mark[]>(a === undefined || b === undefined ? null : `events ${target} ${a} ${live ? 'now' : b}`,
    async (signal) => {
      const { events } = await get('events', { target, from: a, to: b }, signal)
      return events.map(mark).filter((m) => !Number.isNaN(m.at))
    },
    { keep: true, ...(live ? { every: 60_000 } : {}) })
  const reload = d.reload
  useEffect(() => (live ? onStream('event', (e) => (e as Event).target === target && reload()) : undefined),
    [target, live, reload])
  return d
}

// What is typed into the pickers.
import { parseMoment } from '../core/time'
import type { TargetRow as Target } from '../core/openapi.gen'

/** Targets whose name, address, server or labels have every word of what was typed. */
export function findTargets<T extends Target>(all: T[], typed: string): T[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return all
  return all.filter((t) => {
    const hay =
      [t.name, t.address ?? '', t.server ?? '', t.up === undefined ? 'unknown' : t.up ? 'up' : 'down',
      ...Object.entries(t.labels ?? {}).map(([k, v]) => `${k}=${v}`)].join('\n').toLowerCase()
    return words.every((w) => hay.includes(w))
  })
}

/**
 * What a time field takes: "2026-11-03 12:00", "12:00" of today, "-2h", "now", unix seconds; in the browser's time
 * zone. NaN when none.
 */
export function parseTyped(s: string, at: number): number {
  const t = s.trim()
  const day = /^(\d{4})-(\d\d?)-(\d\d?)(?:[ T](\d\d?):(\d\d)(?::(\d\d))?)?$/.exec(t)
  if (day)
    return new Date(Number(day[1]), Number(day[2]) - 1, Number(day[3]), Number(day[4] ?? 0), Number(day[5] ?? 0),
    Number(day[6] ?? 0)).getTime() / 1000
  const clock = /^(\d\d?):(\d\d)(?::(\d\d))?$/.exec(t)
  if (clock) {
    const d = new Date(at * 1000)
    d.setHours(Number(clock[1]), Number(clock[2]), Number(clock[3] ?? 0), 0)
    return d.getTime() / 1000
  }
  return parseMoment(t, at)
}

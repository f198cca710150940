// What is kept, in sums.
import type { Keeping, TargetShare as Share } from '../../core/openapi.gen'

/** The sum of what is known of it, undefined when nothing is. */
export function sum(all: (number | undefined)[]): number | undefined {
  const known = all.filter((v): v is number => v !== undefined)
  return known.length === 0 ? undefined : known.reduce((a, b) => a + b, 0)
}

/**
 * What is still to come of the kinds that are kept for a time and whose pace is known: none takes less for another
 * taking more.
 */
export function stillToCome(all: Keeping[]): number | undefined {
  return sum(all.filter((k) => k.keep_days !== undefined).map(
    (k) => (k.will_take_bytes === undefined ? undefined : Math.max(0, k.will_take_bytes - k.bytes))))
}

export interface ShareOf extends Share {
  kind: string
  first: boolean // of its target
}

/** What each target takes of each kind: target by target, the greatest of the first kind first. */
export function sharesOf(all: Keeping[]): ShareOf[] {
  const names = new Set(all.flatMap((k) => (k.targets ?? []).map((t) => t.target)))
  return [...names].flatMap((name) =>
    all.flatMap((k) => (k.targets ?? []).filter((t) => t.target === name).map((t) => ({ ...t, kind: k.kind }))).map(
      (t, i) => ({ ...t, first: i === 0 })),
  )
}

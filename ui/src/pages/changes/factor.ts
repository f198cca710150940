// Means before and after as a factor.
import { ratio } from '../../core/format'

export interface Factor {
  text: string // "×12.3", above 1 is faster
  word: string
  tone: 'good' | 'bad' | 'info'
}

const same = 1.1 // means of a few seconds differ by so much for no reason

/** What factor needs to know of a class in one window. */
export interface Work {
  mean_sec?: number
  examined_per_call?: number
}

/**
 * How much faster a call became; undefined when a side is not known. Mean times have no interval, so only a change of the rows that a call
 * examines proves one.
 */
export function factor(b: Work | undefined, a: Work | undefined): Factor | undefined {
  const before = b?.mean_sec, after = a?.mean_sec
  if (before === undefined || after === undefined || !(before > 0) || !(after > 0)) return undefined
  const f = before / after
  const rowsBefore = b?.examined_per_call ?? 0, rowsAfter = a?.examined_per_call ?? 0
  const known = b?.examined_per_call !== undefined && a?.examined_per_call !== undefined
  if (f <= same && f >= 1 / same) return { text: ratio(f), word: 'About the same', tone: 'info' }
  if (known && f > same && rowsBefore > rowsAfter * same) return { text: ratio(f), word: 'Faster', tone: 'good' }
  if (known && f < 1 / same && rowsAfter > rowsBefore * same) return { text: ratio(f), word: 'Slower', tone: 'bad' }
  return { text: ratio(f), word: 'Not proven', tone: 'info' }
}

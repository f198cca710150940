// Means before and after as a factor.
import { ratio } from '../../core/format'

export interface Factor {
  text: string // "×12.3", above 1 is faster
  word: string
  tone: 'good' | 'bad' | 'info'
}

const same = 1.1 // means of a few seconds differ by so much for no reason

/** How much faster a call became; undefined when a side is not known. */
export function factor(before: number | undefined, after: number | undefined): Factor | undefined {
  if (before === undefined || after === undefined || !(before > 0) || !(after > 0)) return undefined
  const f = before / after
  if (f > same) return { text: ratio(f), word: 'Faster', tone: 'good' }
  if (f < 1 / same) return { text: ratio(f), word: 'Slower', tone: 'bad' }
  return { text: ratio(f), word: 'About the same', tone: 'info' }
}

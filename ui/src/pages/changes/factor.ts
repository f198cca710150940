// Means before and after as a factor.
import { ratio } from '../../core/format'
import type { ClassChange as Proven } from '../../core/openapi.gen'

interface Factor {
  text: string // "×12.3", above 1 is faster
  word: string
  tone: 'good' | 'bad' | 'info'
}

/** How much faster a call became, and whether that is proven; undefined when a side is not known. */
export function factor(x: Pick<Proven, 'before' | 'after' | 'verdict'>): Factor | undefined {
  const before = x.before?.mean_sec, after = x.after?.mean_sec
  if (before === undefined || after === undefined || !(before > 0) || !(after > 0)) return undefined
  const text = ratio(before / after)
  if (x.verdict === 'faster') return { text, word: 'Faster', tone: 'good' }
  if (x.verdict === 'slower') return { text, word: 'Slower', tone: 'bad' }
  return { text, word: 'Not proven', tone: 'info' }
}

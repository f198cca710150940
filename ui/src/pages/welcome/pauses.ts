/**
 * The pause until the next look, ms: each one knocks at what it finds, so that it is looked by itself only while there
 * is nothing, and ever more rarely. 0: not again.
 */
export function lookAgain(found: number, tries: number): number {
  return found > 0 ? 0 : Math.min(300_000, 10_000 * 2 ** (tries - 1))
}

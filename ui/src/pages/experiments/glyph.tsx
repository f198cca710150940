import { toneOf } from './words'
import type { Interval } from '../../core/openapi.gen'

/** The interval of a ratio around ×1, on an axis that all cells of the table share. */
export function Glyph(
  { of, reach, margin, word }: { of: Interval; reach: number; margin: number; word?: string | undefined }) {
  const at = (v: number) => Math.max(0, Math.min(100, 50 + (50 * Math.log(Math.max(v, 1e-300))) / reach))
  const lo = at(of.lo)
  const hi = at(of.hi)
  const mid = at(of.center)
  const m = margin > 0 ? (50 * Math.log(1 + margin)) / reach : 0
  return (
    <svg class={`lab-glyph ${toneOf(word)}`} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      {m > 0 && <rect class="lab-glyph-same" x={50 - Math.min(50, m)} width={Math.min(100, 2 * m)} y="0" height="10" />}
      <line class="lab-glyph-one" x1="50" x2="50" y1="0" y2="10" />
      <rect class="lab-glyph-range" x={lo} width={Math.max(1, hi - lo)} y="3.5" height="3" />
      <rect class="lab-glyph-mid" x={mid - 0.9} width="1.8" y="1" height="8" />
    </svg>
  )
}

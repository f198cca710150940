// A value against what would be expected, as lengths.
import type { Evidence } from '../../core/openapi.gen'

interface Expected {
  sign: '≤' | '<' | '≥' | '>' | '='
  value: number // in the unit of the evidence
}

const steps: Record<string, number> = {
  '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, '%': 1, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4,
}
const times: Record<string, number> = { ns: 1e-9, µs: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400 }

/**
 * Reads "≤ 10", "< 10k", "< 1.5 MiB of it" as a bound of the same unit as the value; undefined for what is only words.
 */
export function readExpected(text: string | undefined, unit = ''): Expected | undefined {
  const m = /^(≤|<|≥|>|near)?\s*(\d+(?:\.\d+)?)\s*(ns|µs|ms|s|min|h|d|[kMGT](?:iB)?|KiB|B|%)?(?![\w])/.exec(
    text?.trim() ?? '')
  if (!m?.[2]) return undefined
  const n = Number(m[2])
  const suffix = m[3] ?? ''
  let by = steps[suffix]
  if (by === undefined) {
    const t = times[suffix]
    if (t === undefined) return undefined
    by = unit === 'ms' ? t * 1e3 : unit === 's' ? t : NaN
  }
  const value = n * by
  if (!Number.isFinite(value)) return undefined
  const sign = m[1] === undefined || m[1] === 'near' ? '=' : (m[1] as Expected['sign'])
  return { sign, value }
}

interface Bullet {
  value: number // lengths, 0 to 1
  bound?: number
  sign?: Expected['sign']
  log: boolean
  beyond?: boolean // the value is not as expected
}

/** How far bars go. A value and a bound that are more than thirty times apart stand on a logarithmic scale. */
export function bullet(e: Pick<Evidence, 'value' | 'unit' | 'expected'>): Bullet | undefined {
  const v = e.value
  if (v === undefined || !Number.isFinite(v) || v < 0) return undefined
  const x = readExpected(e.expected, e.unit)
  if (!x) {
    if (e.unit === '%' && v <= 100) return { value: v / 100, log: false }
    return undefined
  }
  const beyond = { '≤': v > x.value, '<': v >= x.value, '≥': v < x.value, '>': v <= x.value, '=': v > x.value }[x.sign]
  const percent = e.unit === '%' && Math.max(v, x.value) <= 100
  const top = percent ? 100 : Math.max(v, x.value) * 1.1
  if (top === 0) return { value: 0, bound: 0, sign: x.sign, log: false, beyond }
  const low = Math.min(v, x.value)
  const log = !percent && low > 0 && top / low > 30
  const floor = low / 10
  const at = (n: number) => (n <= 0 ? 0 : log ? Math.log(n / floor) / Math.log(top / floor) : n / top)
  return { value: at(v), bound: at(x.value), sign: x.sign, log, beyond }
}

/** Where a factor is on a scale of powers of ten from 1 to top. */
export function onDecades(x: number, top: number): number {
  return Math.min(1, Math.max(0, Math.log10(Math.max(1, x)) / Math.log10(top)))
}

/** The power of ten at or above x, 10 at least. */
export function decadeAbove(x: number): number {
  return Math.max(10, 10 ** Math.ceil(Math.log10(Math.max(1, x)) - 1e-9))
}

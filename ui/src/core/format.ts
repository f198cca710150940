// Figures as people read them: three significant digits, a unit, and "–" for what is not known.

export interface FigureText { value: string; unit: string }

const none: FigureText = { value: '–', unit: '' }

/** v with three significant digits, never in exponents. */
export function digits(v: number): string {
  if (v === 0) return '0'
  const a = Math.abs(v)
  if (a >= 99.95) return String(Math.round(v))
  if (a >= 9.995) return v.toFixed(1)
  if (a >= 0.9995) return v.toFixed(2)
  const places = Math.min(9, 2 - Math.floor(Math.log10(a)))
  return trim(v.toFixed(places))
}

function trim(s: string): string {
  return s.includes('.') ? s.replace(/\.?0+$/, '') : s
}

/** A count in full: 1234567 is "1 234 567", with narrow spaces. */
export function count(v: number | null | undefined): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return none.value
  return String(Math.round(v)).replace(/\B(?=(\d{3})+$)/g, '\u202f')
}

function scaled(v: number, base: number, steps: readonly string[]): [string, string] {
  let i = 0
  let x = v
  // 999.6 has three digits as 1.00k, not as 1000
  while (Math.abs(x) >= (base === 1024 ? 1023.5 : 999.5) && i < steps.length - 1) {
    x /= base
    i++
  }
  return [i === 0 && Number.isInteger(x) ? String(x) : digits(x), steps[i] ?? '']
}

const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const
const decimal = ['', 'k', 'M', 'G', 'T', 'P'] as const

/**
 * A figure and its unit. Units: "s", "ms", "µs" (written in the one that fits), "B", "B/s", "ratio" (0..1, written in
 * %), "%", "cores", "/s", "1/s", "rows", "rows/s" and whatever else: these get k, M, G beside the number. Null,
 * undefined and NaN are "–".
 */
export function figure(v: number | null | undefined, unit: string): FigureText {
  if (v === null || v === undefined || !Number.isFinite(v)) return none
  switch (unit) {
    case 's':
    case 'seconds':
      return time(v)
    case 'ms':
      return time(v / 1e3)
    case 'µs':
    case 'us':
      return time(v / 1e6)
    case 'ns':
      return time(v / 1e9)
    case 'B':
    case 'bytes': {
      const [value, u] = scaled(v, 1024, binary)
      return { value, unit: u }
    }
    case 'B/s':
    case 'bytes/s': {
      const [value, u] = scaled(v, 1024, binary)
      return { value, unit: u + '/s' }
    }
    case 'ratio':
      return { value: digits(v * 100), unit: '%' }
    case '%':
      return { value: digits(v), unit: '%' }
    case '1/s':
      return figure(v, '/s')
  }
  const [value, step] = scaled(v, 1000, decimal)
  return { value: value + step, unit }
}

function time(v: number): FigureText {
  const a = Math.abs(v)
  if (a === 0) return { value: '0', unit: 's' }
  if (a < 0.9995e-6) return { value: digits(v * 1e9), unit: 'ns' }
  if (a < 0.9995e-3) return { value: digits(v * 1e6), unit: 'µs' }
  if (a < 0.9995) return { value: digits(v * 1e3), unit: 'ms' }
  if (a < 119.95) return { value: digits(v), unit: 's' }
  if (a < 7199) return { value: digits(v / 60), unit: 'min' }
  if (a < 172740) return { value: digits(v / 3600), unit: 'h' }
  return { value: digits(v / 86400), unit: 'd' }
}

/** A figure with its unit in one text: "1.18 MiB/s", "45.3%", "1.23k/s", "–". */
export function text(v: number | null | undefined, unit: string): string {
  const f = figure(v, unit)
  if (f.unit === '' || f.unit === '%' || f.unit === '/s') return f.value + f.unit
  return f.value + ' ' + f.unit
}

/** A ratio with its interval: "×1.23 (1.10–1.38)". */
export function ratio(v: number | null | undefined, lo?: number | null, hi?: number | null): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return none.value
  const f =
    (x: number) => (Math.abs(x) >= 100 ? String(Math.round(x)) : Math.abs(x) >= 10 ? x.toFixed(1) : x.toFixed(2))
  const known = (x: number | null | undefined): x is number => x !== null && x !== undefined && Number.isFinite(x)
  return '×' + f(v) + (known(lo) && known(hi) ? ` (${f(lo)}–${f(hi)})` : '')
}

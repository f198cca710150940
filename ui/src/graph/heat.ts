// What a heat map is made of, and where a point of it is: no drawing.

/** A step of time; cells are pairs of a row and how many it holds. Unix seconds. */
export interface HeatColumn { from: number; to: number; cells: [number, number][]; reason?: string | undefined }

export interface HeatMap {
  /** The edges of the rows, one more than there are rows. */
  bounds: number[]
  columns: HeatColumn[]
}

/** The largest count of a cell. */
export function hottest(m: HeatMap): number {
  return m.columns.reduce((a, c) => c.cells.reduce((b, [, n]) => Math.max(b, n), a), 0)
}

/** How strong a cell is painted, 0 to 1: by the logarithm, so that rare slow statements are seen beside many fast ones. */
export function heat(n: number, most: number): number {
  if (n <= 0) return 0
  return most <= 1 ? 1 : 0.14 + 0.86 * Math.log(n) / Math.log(most)
}

/** Counts for a legend, from 1 to the most, about equally far apart in colour. */
export function steps(most: number, n = 5): number[] {
  const all = Array.from({ length: n }, (_, i) => Math.round(Math.pow(Math.max(most, 1), i / (n - 1))))
  return [...new Set(all)]
}

/** The powers of ten among the bounds and how far up they are, 0 to 1. */
export function decades(bounds: number[]): { value: number; at: number }[] {
  const rows = bounds.length - 1
  const out: { value: number; at: number }[] = []
  if (rows < 1) return out
  for (let e = -9; e < 6; e++) {
    const v = Math.pow(10, e)
    const i = bounds.findIndex((b) => b > v)
    if (i < 1) continue
    const lo = bounds[i - 1] ?? v
    const hi = bounds[i] ?? v
    out.push({ value: v, at: (i - 1 + (v - lo) / (hi - lo)) / rows })
  }
  return out
}

/** Whole moments between two, n at most. */
export function ticks(from: number, to: number, n: number): number[] {
  const all = [60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 2592000]
  const step = all.find((s) => (to - from) / s <= n) ?? (to - from)
  const out: number[] = []
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t)
  return out
}

/** How many a cell holds. */
export function held(m: HeatMap, column: number, row: number): number {
  return m.columns[column]?.cells.find(([r]) => r === row)?.[1] ?? 0
}

// PromQL over what Dyno keeps, where a page wants something that no path of its own gives.
import { queryRange, type Matrix } from './api'

/** One series of an answer: its labels, and a value for each step of the window, null where there is none. */
export interface Course { labels: Record<string, string>; values: (number | null)[] }

/** The course of an expression from from to to (unix seconds), one value each step seconds. */
export async function courses(expr: string, from: number, to: number, step: number,
  signal?: AbortSignal): Promise<Course[]> {
  const start = Math.floor(from / step) * step
  const a = await queryRange({ query: expr, start, end: to, step }, signal)
  return spread(a, start, to, step)
}

/** Spreads an answer over its steps. */
export function spread(a: Matrix, start: number, to: number, step: number): Course[] {
  const n = Math.floor((to - start) / step) + 1
  return a.data.result.map((r) => {
    const values: (number | null)[] = Array.from({ length: n }, () => null)
    for (const [t, v] of r.values) {
      const x = Number(v)
      const i = Math.round((t - start) / step)
      if (i >= 0 && i < n && Number.isFinite(x)) values[i] = x
    }
    return { labels: r.metric, values }
  })
}

// What a table shows of its rows, and in which order.

type Value = number | string | null | undefined

interface Sortable<T> { key: string; sort?: (a: T, b: T) => number; value?: (row: T) => Value }

/**
 * Rows in the order "key" or "-key"; ties stay as they came, and so does all under an unknown key. Unknown values go
 * last both ways.
 */
export function sorted<T>(rows: T[], columns: Sortable<T>[], order: string): T[] {
  const c = columns.find((x) => x.key === order.replace(/^-/, ''))
  const sign = order.startsWith('-') ? -1 : 1
  if (c?.value) {
    const value = c.value
    return rows.map((row) => ({ row, v: value(row) }))
      .sort((a, b) => {
        const x = known(a.v)
        const y = known(b.v)
        return x && y ? sign * compare(a.v, b.v) : x === y ? 0 : x ? -1 : 1
      })
      .map((x) => x.row)
  }
  if (!c?.sort) return rows
  const by = c.sort
  return [...rows].sort((a, b) => sign * (by(a, b) || 0))
}

function known(v: Value): v is number | string {
  return v !== null && v !== undefined && !(typeof v === 'number' && Number.isNaN(v))
}

function compare(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a).localeCompare(String(b), 'en', { numeric: true, sensitivity: 'base' })
}

/** Which rows of n are drawn: those in sight and some round them. */
export function windowOf(n: number, row: number, top: number, view: number): { first: number; last: number } {
  const spare = 12
  const first = Math.max(0, Math.min(n, Math.floor(top / row) - spare))
  return { first: first - (first % 2), last: Math.min(n, Math.ceil((top + view) / row) + spare) }
}

/** The row that Tab leads to: the one the keyboard is on, or while it is not drawn the first one in sight. */
export function tabStop(drawn: string[], at: string | null, inSight: number): string | null {
  if (at === null || drawn.includes(at)) return at
  return drawn[Math.min(drawn.length - 1, Math.max(0, inSight))] ?? null
}

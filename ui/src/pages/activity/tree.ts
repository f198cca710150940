import type { Wait } from '../../core/openapi.gen'
// Who waits for whom, the root of each chain on top.

/**
 * What stands at the top: a session that others wait for, a blocker that the server does not name, or one of a circle.
 */
export interface Root {
  session?: number
  unknown?: string // without a session: why
  object?: string // without a session: what is waited for
  cycle: boolean // it waits as well, for a session below it
  total: number // sessions below it, each once
  longest: number // seconds of the longest wait below it; 0 when not known
  waiters: Node[]
}

export interface Node { wait: Wait; waiters: Node[] }

/**
 * Orders waits by who blocks whom, the root with most waiters first. Below a root each session stands once, at its
 * shortest way from the root; one that two roots block stands below both.
 */
export function tree(waits: Wait[]): Root[] {
  const byLength = [...waits].sort((a, b) => (b.seconds ?? -1) - (a.seconds ?? -1) || a.waiter - b.waiter)
  const below = new Map<number, Wait[]>()
  const above = new Map<number, (number | undefined)[]>()
  const unknown = new Map<string, Wait[]>()
  for (const w of byLength) {
    push(above, w.waiter, w.blocker)
    if (w.blocker === undefined) push(unknown, JSON.stringify([w.kind, w.object ?? '', w.unknown ?? '']), w)
    else push(below, w.blocker, w)
  }
  const reached = new Set<number>()

  const grow = (top: Wait[], seen: Set<number>): Pick<Root, 'waiters' | 'total' | 'longest'> => {
    const waiters: Node[] = []
    let total = 0
    let longest = 0
    for (let level = [{ into: waiters, from: top }]; level.length > 0; ) {
      const next: { into: Node[]; from: Wait[] }[] = []
      for (const { into, from } of level)
        for (const wait of from) {
          if (seen.has(wait.waiter)) continue
          seen.add(wait.waiter)
          reached.add(wait.waiter)
          const node: Node = { wait, waiters: [] }
          into.push(node)
          total++
          longest = Math.max(longest, wait.seconds ?? 0)
          next.push({ into: node.waiters, from: below.get(wait.waiter) ?? [] })
        }
      level = next
    }
    return { waiters, total, longest }
  }

  const roots: Root[] = []
  for (const b of [...below.keys()].sort((x, y) => x - y))
    if (!above.has(b)) roots.push({ session: b, cycle: false, ...grow(below.get(b) ?? [], new Set([b])) })
  for (const group of unknown.values()) {
    const first = group[0]
    roots.push({ cycle: false, ...(first?.unknown ? { unknown: first.unknown } : {}),
      ...(first?.object ? { object: first.object } : {}), ...grow(group, new Set()) })
  }
  // Who was not reached has blockers that were not reached either: going up ends in a circle.
  for (const w of [...above.keys()].sort((x, y) => x - y)) {
    if (reached.has(w)) continue
    const seen = new Set<number>()
    let at = w
    while (!seen.has(at)) {
      seen.add(at)
      at = above.get(at)?.[0] ?? at
    }
    let top = at
    for (let x = above.get(at)?.[0] ?? at; x !== at; x = above.get(x)?.[0] ?? at) top = Math.min(top, x)
    reached.add(top)
    roots.push({ session: top, cycle: true, ...grow(below.get(top) ?? [], new Set([top])) })
  }
  return roots.sort((a, b) => b.total - a.total)
}

function push<K, V>(m: Map<K, V[]>, k: K, v: V): void {
  const list = m.get(k)
  if (list) list.push(v)
  else m.set(k, [v])
}

import { expect, it } from 'vitest'

const sheets = import.meta.glob<string>('../**/*.css', { query: '?raw', import: 'default', eager: true })

/** The class that a selector begins with, with what stands beside it: ".quiet .icon" and ".quiet" are of "quiet". */
function owners(css: string): Set<string> {
  const out = new Set<string>()
  const plain = css.replace(/\/\*[\s\S]*?\*\//g, '').replace(/@(media|supports)[^{]*\{/g, '')
  for (const m of plain.matchAll(/(?:^|[{}])\s*([^{}@]+)\{/g))
    for (const s of (m[1] ?? '').split(',')) {
      const c = /^\s*\.([\w-]+)(?=[\s:>+~[]|$)/.exec(s)
      if (c?.[1]) out.add(c[1])
    }
  return out
}

// Styles of pages count on their pages only, see vite.config.ts; all others apply everywhere.
it('no class is drawn in two folders', () => {
  const of = new Map<string, Set<string>>()
  for (const [path, css] of Object.entries(sheets)) {
    if (path.includes('/pages/')) continue
    const folder = path.replace(/^\.\.?\//, '').replace(/\/?[^/]*$/, '')
    for (const c of owners(css)) of.set(c, (of.get(c) ?? new Set()).add(folder))
  }
  const twice = [...of].filter(([, where]) => where.size > 1).map(([c, where]) => `.${c}: ${[...where].join(', ')}`)
  expect(of.size).toBeGreaterThan(50)
  expect(twice).toEqual([])
})

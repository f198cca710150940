import { expect, test, vi } from 'vitest'
import { inTurn } from './turn'

const rest = (ms: number) => new Promise((done) => setTimeout(done, ms))
const busy = (ms: number) => {
  for (const end = performance.now() + ms; performance.now() < end; ) {
    // as drawing would be
  }
}

test('in order, the first ones at once, and the page has turns between', async () => {
  const seen: string[] = []
  // As plots do, it draws when what asked for it has ended.
  for (const n of ['a', 'b', 'c', 'd', 'e', 'f']) inTurn(() => queueMicrotask(() => (busy(7), seen.push(n))))
  expect(seen).toEqual([])
  let turns = 0
  await new Promise((done) => queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => done(0)))))
  expect(seen.join('')).toMatch(/^ab?c?$/)
  for (const end = Date.now() + 5000; seen.length < 6 && Date.now() < end; turns++) await rest(0)
  expect(seen.join('')).toBe('abcdef')
  expect(turns).toBeGreaterThan(0)
})

test('what was called off is not done, what comes later is', async () => {
  const seen: string[] = []
  inTurn(() => seen.push('a'))
  const off = inTurn(() => seen.push('b'))
  inTurn(() => {
    inTurn(() => seen.push('d'))
    seen.push('c')
  })
  off()
  off()
  await rest(20)
  expect(seen.join('')).toBe('acd')
  inTurn(() => seen.push('e'))
  await rest(20)
  expect(seen.join('')).toBe('acde')
})

test('one that fails is reported, and the others have their turn', async () => {
  const told = vi.fn()
  vi.stubGlobal('reportError', told)
  const seen: string[] = []
  const wrong = new Error('no')
  inTurn(() => {
    throw wrong
  })
  inTurn(() => seen.push('a'))
  await rest(20)
  vi.unstubAllGlobals()
  expect(told).toHaveBeenCalledWith(wrong)
  expect(seen).toEqual(['a'])
})

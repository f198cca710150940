import { expect, test } from 'vitest'
import { tree, type Node, type Root } from './tree'
import type { Wait } from '../../core/openapi.gen'

const w = (waiter: number, blocker?: number, seconds?: number, more: Partial<Wait> = {}): Wait => ({
  kind: 'row', waiter, ...(blocker === undefined ? {} : { blocker }), ...(seconds === undefined ? {} : { seconds }),
    ...more,
})

/** 1(2(3) 4) */
function text(roots: Root[]): string {
  const node = (n: Node): string => String(n.wait.waiter) +
    (n.waiters.length ? `(${n.waiters.map(node).join(' ')})` : '')
  return roots.map((r) => `${r.session ?? '?'}${r.cycle ? '*' : ''}[${r.total}](${r.waiters.map(node).join(' ')})`)
    .join(' ')
}

test('roots stand on top, each session once', () => {
  expect(text(tree([]))).toBe('')
  expect(text(tree([w(2, 1)]))).toBe('1[1](2)')
  expect(text(tree([w(2, 1), w(3, 2), w(4, 3)]))).toBe('1[3](2(3(4)))')
  // a queue for one lock: everyone waits for those before as well
  expect(text(tree([w(2, 1, 9), w(3, 1, 5), w(3, 2, 5), w(4, 1, 1), w(4, 2, 1), w(4, 3, 1)]))).toBe('1[3](2 3 4)')
  // the longest wait first
  expect(text(tree([w(2, 1, 1), w(3, 1, 9), w(4, 1)]))).toBe('1[3](3 2 4)')
  // two roots of one waiter
  expect(text(tree([w(3, 1), w(3, 2)]))).toBe('1[1](3) 2[1](3)')
  // the root with more waiters first
  expect(text(tree([w(2, 1), w(11, 10), w(12, 11)]))).toBe('10[2](11(12)) 1[1](2)')
})

test('an unknown blocker is a root with its reason', () => {
  const roots = tree([w(2, undefined, 3, { kind: 'metadata', object: 'shop.orders', unknown: 'no instrument' }),
    w(3, undefined, 1, { kind: 'metadata', object: 'shop.orders', unknown: 'no instrument' }), w(4, 2)])
  expect(text(roots)).toBe('?[3](2(4) 3)')
  expect(roots[0]?.unknown).toBe('no instrument')
  expect(roots[0]?.object).toBe('shop.orders')
  expect(roots[0]?.longest).toBe(3)
})

test('circles end', () => {
  expect(text(tree([w(1, 2), w(2, 1)]))).toBe('1*[1](2)')
  expect(text(tree([w(5, 7), w(6, 5), w(7, 6), w(8, 6)]))).toBe('5*[3](6(7 8))')
  expect(text(tree([w(1, 1)]))).toBe('1*[0]()')
  expect(text(tree([w(9, 1), w(1, 2), w(2, 1)]))).toBe('1*[2](2 9)')
})

test('five hundred waits of one queue are quick', () => {
  const waits: Wait[] = []
  for (let i = 2; i <= 33; i++) for (let j = 1; j < i; j++) waits.push(w(i, j, 100 - i))
  const r = tree(waits)
  expect(r.length).toBe(1)
  expect(r[0]?.total).toBe(32)
  expect(r[0]?.waiters.length).toBe(32)
})

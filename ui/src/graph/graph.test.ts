import { expect, test } from 'vitest'
import { linesOf } from './graph'
import type { Graph as Panel, HttpapiLine as Line } from '../core/openapi.gen'

const line = (name: string, compare: (number | null)[] | undefined, more: Partial<Line> = {}): Line =>
  ({ name, expr: 'e', mean: [1, 1], ...(compare ? { compare } : {}), ...more })
const stack = (...lines: Line[]): Panel =>
  ({ id: 'a', group: 'g', title: 'A', unit: '/s', about: '', stacked: true, lines })
const sum = (p: Panel) => linesOf(p, 'yesterday').find((l) => l.dash)?.y

test('the height of a stack then is known where each of its lines is', () => {
  expect(sum(stack(line('a', [1, 2]), line('b', [10, null])))).toEqual([11, null])
  expect(sum(stack(line('a', [1, 2]), line('b', undefined)))).toEqual([null, null])
  expect(sum(stack(line('a', [1, 2]), line('b', undefined, { unknown: 'why' }), line('idle', undefined, { rest: true }),
    line('limit', [5, 5], { limit: true })))).toEqual([1, 2])
  expect(sum(stack(line('a', undefined)))).toBe(undefined)
})

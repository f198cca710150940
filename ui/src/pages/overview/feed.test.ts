import { expect, test } from 'vitest'
import type { Graphs } from '../../graph'
import { anything, pace, tailFrom } from './feed'

const graphs = (mean: (number | null)[], step = 10): Graphs => ({
  target: 't', from: 0, to: step * mean.length, step,
  panels: [{ id: 'a', group: 'g', title: 'A', unit: '/s', about: '', stacked: false,
    lines: [{ name: 'x', expr: 'e', mean }] }],
})

test('nothing is known of nulls', () => {
  expect(anything(graphs([null, null]))).toBe(false)
  expect(anything(graphs([null, 0]))).toBe(true)
})

test('the pace is that of the steps, at first each second, and never quicker', () => {
  expect(pace(graphs([1]), 0)).toBe(10_000)
  expect(pace(graphs([1], 600), 0)).toBe(60_000)
  expect(pace(graphs([null]), 3)).toBe(1000)
  expect(pace(graphs([null]), 100)).toBe(10_000)
})

test('what is read rarely comes late, so that the end is asked for again', () => {
  expect(tailFrom(1000, 1)).toBe(970)
  expect(tailFrom(1000, 60)).toBe(880)
})

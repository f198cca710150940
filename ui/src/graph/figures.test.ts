import { describe as group, expect, test } from 'vitest'
import { describe, join, last, limitMatters, middles, sortOut, stack, tick, tickSteps, ticksAt, timeTick,
  timeTicksAt } from './figures'
import type { Graphs } from './figures'
import type { Graph as Panel } from '../core/openapi.gen'

test('stack sums, and is not known where a line is not', () => {
  expect(stack([[1, 2, null], [3, null, 1], [1, 1, 1]])).toEqual([[1, null, null], [4, null, null], [5, null, null]])
  expect(stack([])).toEqual([])
})

test('middles of steps', () => expect(middles(100, 10, 3)).toEqual([105, 115, 125]))

test('the newest value that is known', () => {
  expect(last([1, 2, null])).toBe(2)
  expect(last([null])).toBe(null)
})

test('ticks carry their unit', () => {
  expect(tick(0, 'B')).toBe('0')
  expect(tick(1024 * 1024 * 8, 'B/s')).toBe('8.00 MiB/s')
  expect(tick(1500, '/s')).toBe('1.5k/s')
  expect(tick(200, '/s')).toBe('200/s')
  expect(tick(0.25, 'ratio')).toBe('25.0%')
  expect(tick(0.002, 's')).toBe('2.00 ms')
  expect(tick(5, 'connections')).toBe('5')
  expect(tickSteps('B')).toContain(1024)
})

test('ticks stand at the multiples of a step', () => {
  expect(ticksAt(0, 1, 0.25)).toEqual([0, 0.25, 0.5, 0.75, 1])
  expect(ticksAt(0, 0.7, 0.1)).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
  expect(ticksAt(-3, 7, 5)).toEqual([0, 5])
  expect(ticksAt(1, 1e9, 1).length).toBe(1000)
})

test('ticks of time stand at whole hours and days of the browser', () => {
  const from = new Date(2026, 2, 1, 9, 30).getTime() / 1000
  const hours = timeTicksAt(from, from + 86400, 10800).map((t) => new Date(t * 1000).getHours())
  expect(hours).toEqual([12, 15, 18, 21, 0, 3, 6, 9])
  const days = timeTicksAt(from, from + 60 * 86400, 86400).map((t) => new Date(t * 1000))
  expect(days.length).toBe(60)
  expect(days.every((d) => d.getHours() === 0 && d.getMinutes() === 0)).toBe(true)
  expect(timeTicksAt(from + 1, from + 3, 1)).toEqual([from + 1, from + 2, from + 3])
  expect(timeTicksAt(from, from + 900, 300)).toEqual([from, from + 300, from + 600, from + 900])
})

test('a limit far away is not drawn', () => {
  expect(limitMatters([151, 151], [[2, 3]])).toBe(false)
  expect(limitMatters([151, 151], [[2, 100]])).toBe(true)
})

test('ticks of time', () => {
  const t = new Date(2026, 10, 3, 12, 5, 30).getTime() / 1000
  expect(timeTick(t, 30, false)).toBe('12:05:30')
  expect(timeTick(t, 600, false)).toBe('12:05')
  expect(timeTick(t, 86400, false)).toBe('Nov 3')
})

const panel = (mean: (number | null)[], more: object = {}): Panel => ({
  id: 'a', group: 'g', title: 'A', unit: '/s', about: '', stacked: false,
    lines: [{ name: 'x', expr: 'e', mean, ...more }],
})
const graphs = (from: number, mean: (number | null)[], more: object = {}): Graphs =>
  ({ target: 't', from, to: from + 10 * mean.length, step: 10, panels: [panel(mean, more)] })

group('join', () => {
  const mean = (g: Graphs) => g.panels[0]?.lines[0]?.mean
  test('the newer one counts, what is too old goes', () => {
    const g = join(graphs(100, [1, 2, 3, 4]), graphs(130, [40, 5]), 115)
    expect([g.from, g.to]).toEqual([110, 150])
    expect(mean(g)).toEqual([2, 3, 40, 5])
  })
  test('another step, or a hole between: all from scratch', () => {
    expect(mean(join(graphs(100, [1, 2]), graphs(200, [9]), 100))).toEqual([9])
  })
  test('a line that comes to be known', () => {
    const g = join(graphs(100, [null, null], { unknown: 'why' }), graphs(120, [7]), 100)
    expect(mean(g)).toEqual([null, null, 7])
    expect(g.panels[0]?.lines[0]?.unknown).toBe(undefined)
  })
  test('what is new in the tail has its place', () => {
    const more = graphs(120, [7])
    more.panels[0]?.lines.unshift({ name: 'new', expr: 'e', mean: [9] })
    more.panels.push({ ...panel([8]), id: 'b' })
    const g = join(graphs(100, [1, 2]), more, 100)
    expect(g.panels.map((p) => p.lines.map((l) => [l.name, l.mean]))).toEqual(
      [[['new', [null, null, 9]], ['x', [1, 2, 7]]], [['x', [null, null, 8]]]])
  })
  test('a range on one side', () => {
    const g = join(graphs(100, [1, 2]), graphs(120, [7], { min: [5], max: [9] }), 100)
    expect(g.panels[0]?.lines[0]?.min).toEqual([1, 2, 5])
    expect(g.panels[0]?.lines[0]?.max).toEqual([1, 2, 9])
  })
})

test('panels of which nothing is known are distinguished', () => {
  const s = sortOut([panel([1]), panel([], { unknown: 'no' })])
  expect([s.shown.length, s.unknown.length]).toEqual([1, 1])
})

test('a picture in words', () => {
  expect(describe('Throughput', '/s', [{ name: 'statements', y: [10, 30, 20] }])).toBe(
    'Throughput. statements: 20/s last, min 10/s, max 30/s.')
})

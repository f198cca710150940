import { expect, test } from 'vitest'
import { gaps, moved, nearest, offered, readAt, stepOf, stretch } from './moments'

test('what is in the URL', () => {
  expect(readAt('')).toBe('live')
  expect(readAt('1762171200')).toBe(1762171200)
  expect(readAt('1762171200.5')).toBe(1762171200.5)
  expect(readAt('2026-11-03T12:00:00Z')).toBe(1793707200)
  for (const bad of ['soon', '-5', '1e9', '99999999999999', '<script>', '2026-11-03Tx', 'NaN'])
    expect(readAt(bad)).toBeNaN()
})

test('a move ends live at the present, and never before the epoch', () => {
  expect(moved('live', -1, 100.7)).toBe(99)
  expect(moved(50, 1, 100)).toBe(51)
  expect(moved(50.9, -60, 100)).toBe(0)
  expect(moved(99, 1, 100)).toBe('live')
  expect(moved(99, 60, 100.2)).toBe('live')
  expect(moved('live', 5, 100)).toBe('live')
  expect(moved(NaN, -1, 100)).toBe(99)
})

test('the timeline holds the moment', () => {
  expect(stretch(0, 100, 'live')).toEqual({ from: 0, to: 100 })
  expect(stretch(0, 100, 50)).toEqual({ from: 0, to: 100 })
  expect(stretch(0, 100, 500)).toEqual({ from: 450, to: 550 })
  expect(stretch(0, 100, NaN)).toEqual({ from: 0, to: 100 })
})

test('steps of playing are real time times the speed', () => {
  for (const s of [1, 10, 60, -1, -10, -60]) {
    const { every, seconds } = stepOf(s)
    expect((seconds * 1000) / every).toBe(s)
  }
})

test('the nearest kept moment', () => {
  expect(nearest([], 5)).toBeUndefined()
  expect(nearest([1, 5, 9], 6)).toBe(5)
  expect(nearest([1, 5, 9], 8)).toBe(9)
  expect(nearest([1, 5, 9], 7)).toBe(5)
  expect(nearest([1, 5, 9], -3)).toBe(1)
  expect(nearest([1, 5, 9], 99)).toBe(9)
})

test('gaps', () => {
  expect(gaps([], 0, 10, 3)).toEqual([{ from: 0, to: 10 }])
  expect(gaps([1, 2, 3, 8, 9], 0, 10, 3)).toEqual([{ from: 3, to: 8 }])
  expect(gaps([6, 7], 0, 20, 3)).toEqual([{ from: 0, to: 6 }, { from: 7, to: 20 }])
})

test('an answer that there is none names the nearest', () => {
  const at = Date.parse('2026-11-03T12:00:00Z') / 1000
  expect(
    offered(
    'no state of "x" is kept for 2026-11-03T12:00:00Z: the nearest are of 2026-11-03T11:00:00Z and ' +
      '2026-11-03T12:30:00+00:00', at)).toEqual({ before: at - 3600, after: at + 1800 })
  expect(offered('no state of "x" is kept for 2026-11-03T12:00:00Z: the last one is of 2026-11-03T11:00:00Z', at))
    .toEqual({ before: at - 3600 })
  expect(offered('no state of "x" is kept for 2026-11-03T12:00:00Z: the first one is of 2026-11-03T13:00:00Z', at))
    .toEqual({ after: at + 3600 })
  expect(offered('there is none of this target at all', at)).toEqual({})
})

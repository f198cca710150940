import { expect, test } from 'vitest'
import { decades, heat, held, hottest, steps, ticks, type HeatMap } from './heat'

const map: HeatMap = {
  bounds: [0.5, 1, 2, 4],
  columns: [{ from: 0, to: 60, cells: [[0, 3], [2, 100]] }, { from: 60, to: 120, cells: [], reason: 'emptied' }],
}

test('one statement is seen beside a hundred', () => {
  expect(hottest(map)).toBe(100)
  expect(heat(0, 100)).toBe(0)
  expect(heat(1, 100)).toBeGreaterThan(0.1)
  expect(heat(10, 100)).toBeCloseTo(0.57)
  expect([heat(100, 100), heat(1, 1)]).toEqual([1, 1])
  expect(steps(10000)).toEqual([1, 10, 100, 1000, 10000])
  expect(steps(1)).toEqual([1])
})

test('decades lie where their value is', () => {
  expect(decades(map.bounds)).toEqual([{ value: 1, at: 1 / 3 }])
  expect(decades([])).toEqual([])
})

test('ticks are whole moments', () => {
  expect(ticks(61, 299, 4)).toEqual([120, 180, 240])
  expect(ticks(0, 86400, 4)).toEqual([0, 21600, 43200, 64800, 86400])
})

test('a cell holds what its pair says', () => {
  expect([held(map, 0, 2), held(map, 0, 1), held(map, 1, 0), held(map, 7, 0)]).toEqual([100, 0, 0, 0])
})

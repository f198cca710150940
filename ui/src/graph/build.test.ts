import { expect, test } from 'vitest'
import { alpha, data, draw, shape, type Picture } from './build'
import { marksAt } from './marks'

const picture = (more: Partial<Picture>): Picture =>
  ({ x: [1, 2], from: 0, to: 3, unit: '/s', stacked: false, lines: [], ...more })

test('a stack is drawn from the top, each course down to the one below', () => {
  const d =
    draw(
    picture(
    { stacked: true,
    lines: [{ name: 'a', y: [1, 1] }, { name: 'b', y: [2, null] }, { name: 'then', y: [9, 9], dash: true }] }))
  expect(d.courses.map((c) => [c.line, c.part])).toEqual([[1, 'mean'], [0, 'mean'], [2, 'compare']])
  expect(data(d)).toEqual([[1, 2], [3, null], [1, null], [9, 9]])
  expect(d.max).toBe(9)
})

test('ranges lie under the lines, and count for the scale', () => {
  const d = draw(picture({ lines: [{ name: 'a', y: [5, 6], band: [[1, 2], [8, 20]] }] }))
  expect(d.courses.map((c) => c.part)).toEqual(['high', 'low', 'mean'])
  expect([d.min, d.max]).toEqual([0, 20])
})

test('a limit that is far away is left to the legend', () => {
  const far = draw(picture({ lines: [{ name: 'a', y: [1, 2] }, { name: 'limit', y: [100, 100], limit: true }] }))
  expect([far.courses.length, far.max]).toEqual([1, 2])
  const near = draw(picture({ lines: [{ name: 'a', y: [1, 70] }, { name: 'limit', y: [100, 100], limit: true }] }))
  expect([near.courses.length, near.max]).toEqual([2, 100])
  expect(shape(far)).not.toBe(shape(near))
})

test('figures alone do not rebuild a plot', () => {
  const f = (y: number[]) => shape(draw(picture({ lines: [{ name: 'a', y }] })))
  expect(f([1, 2])).toBe(f([3, 4]))
})

test('colours with opacity', () => {
  expect(alpha(' #0b62c4 ', 0.5)).toBe('rgba(11, 98, 196, 0.5)')
  expect(alpha('red', 0.5)).toBe('red')
})

test('marks at a moment: within reach, or within their time', () => {
  const marks = [{ id: '1', at: 100, kind: 'ddl', text: '' }, { id: '2', at: 50, until: 150, kind: 'gap', text: '' },
    { id: '3', at: 200, kind: 'run', text: '' }]
  expect(marksAt(marks, 103, 5).map((m) => m.id)).toEqual(['1', '2'])
  expect(marksAt(marks, 160, 5)).toEqual([])
})

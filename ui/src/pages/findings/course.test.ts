import { expect, it } from 'vitest'
import { beyond, courseIn } from './course'

const all = { classes: [{ id: 'A', line: { values: [null, 1] } }, { id: 'B', line: { values: [null, null] } }],
  coverage: { classes: 2 } }

it('distinguishes a class that did not run from one that the answer left out', () => {
  expect(beyond(all, 'C')).toBe(false)
  expect(beyond({ ...all, coverage: { classes: 3 } }, 'C')).toBe(true)
  expect(beyond({ ...all, coverage: { classes: 3 } }, 'A')).toBe(false)
  expect(beyond({ classes: [], coverage: {} }, 'A')).toBe(false)
  expect(beyond(undefined, 'A')).toBe(false)
})

it('gives a course, or says why there is none', () => {
  expect(courseIn(all, 'A', false)).toEqual([null, 1])
  expect(courseIn(all, 'B', false)).toBe('no trend for the last hour')
  expect(courseIn(all, 'C', false)).toBe('no trend for the last hour')
  expect(courseIn(undefined, 'A', true)).toBe('loading the trend …')
  expect(courseIn(undefined, 'A', false)).toBe('the trend cannot be read now')
})

import { expect, it } from 'vitest'
import { factor } from './factor'

const of = (before?: number, after?: number, verdict?: 'faster' | 'slower' | 'unproven') =>
  ({ before: { mean_sec: before }, after: { mean_sec: after }, verdict })

it('calls a call faster only where that is proven', () => {
  expect(factor(of(0.1, 0.005, 'faster'))).toEqual({ text: '×20.0', word: 'Faster', tone: 'good' })
  expect(factor(of(0.1, 0.2, 'slower'))).toMatchObject({ text: '×0.50', word: 'Slower', tone: 'bad' })
  expect(factor(of(0.1, 0.0147, 'unproven'))).toMatchObject({ word: 'Not proven', tone: 'info' })
  expect(factor(of(0.1, 0.0147))).toMatchObject({ word: 'Not proven', tone: 'info' }) // kept by an earlier version
})

it('says nothing of what is not known', () => {
  expect(factor(of(undefined, 1, 'faster'))).toBeUndefined()
  expect(factor(of(1, undefined))).toBeUndefined()
  expect(factor(of(0, 1))).toBeUndefined()
  expect(factor({})).toBeUndefined()
})

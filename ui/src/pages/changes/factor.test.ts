import { expect, it } from 'vitest'
import { factor } from './factor'

const work = (mean_sec?: number, examined_per_call?: number) => ({ mean_sec, examined_per_call })

it('calls a call faster only where it examines fewer rows', () => {
  expect(factor(work(0.1, 200000), work(0.005, 1))).toEqual({ text: '×20.0', word: 'Faster', tone: 'good' })
  expect(factor(work(0.1, 1), work(0.2, 10))).toMatchObject({ text: '×0.50', word: 'Slower', tone: 'bad' })
  expect(factor(work(0.1, 1), work(0.099, 1))).toMatchObject({ tone: 'info' })
  expect(factor(work(0.1, 1), work(0.0147, 1))).toMatchObject({ word: 'Not proven', tone: 'info' })
  expect(factor(work(0.1), work(0.0147))).toMatchObject({ word: 'Not proven', tone: 'info' })
})

it('says nothing of what is not known', () => {
  expect(factor(undefined, work(1, 1))).toBeUndefined()
  expect(factor(work(1, 1), undefined)).toBeUndefined()
  expect(factor(work(0, 1), work(1, 1))).toBeUndefined()
})

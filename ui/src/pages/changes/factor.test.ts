import { expect, it } from 'vitest'
import { factor } from './factor'

it('tells how much faster a call became', () => {
  expect(factor(0.1, 0.005)).toEqual({ text: '×20.0', word: 'Faster', tone: 'good' })
  expect(factor(0.1, 0.2)).toMatchObject({ text: '×0.50', word: 'Slower', tone: 'bad' })
  expect(factor(0.1, 0.099)).toMatchObject({ tone: 'info' })
})

it('says nothing of what is not known', () => {
  expect(factor(undefined, 1)).toBeUndefined()
  expect(factor(1, undefined)).toBeUndefined()
  expect(factor(0, 1)).toBeUndefined()
})

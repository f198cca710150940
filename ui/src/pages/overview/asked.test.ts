import { expect, test } from 'vitest'
import { now } from '../../core/clock'
import { fitRange, readRange } from '../../core/time'
import { asks, wanted } from './asked'

const of = (query: string) => asks(wanted(new URLSearchParams(query)))

test('what is relative to now stays so', () => {
  expect(of('target=shop')).toEqual({ target: 'shop', from: '-1h', to: 'now', compare: null, panel: [], points: 360 })
  expect(of('target=shop&from=-1h30m&to=now&compare=1d')).toMatchObject({ from: '-1h30m', to: 'now', compare: 86400 })
  expect(of('target=shop&panel=cpu')).toMatchObject({ panel: ['cpu'], points: 1200 })
  // The same question each time, so that an answer that is on its way is found.
  expect(of('target=shop&from=-6h')).toEqual(of('target=shop&from=-6h'))
})

test('a server watched for minutes opens with these, as the picker says', () => {
  fitRange('new', now() - 60)
  expect(of('target=new')).toMatchObject({ from: '-5m', to: 'now' })
  expect(readRange('-5m', 'now', now()).text).toBe('last 5 min')
  expect(of('target=new&from=-1h')).toMatchObject({ from: '-1h' })
})

test('other moments are worked out', () => {
  expect(of('target=shop&from=1000&to=2000')).toMatchObject({ from: 1000, to: 2000 })
  expect(of('target=shop&from=2000&to=1000')).toMatchObject({ from: 1000, to: 2000 })
  // which the API would refuse, or the page reads otherwise
  for (const odd of ['-30m1h', '-1.5h', '-1h1h', 'now-1h']) expect(typeof of(`from=${odd}`)['from']).toBe('number')
  const wrong = of('target=shop&from=nonsense')
  expect(Number(wrong['to'])).toBeCloseTo(now(), -1)
  expect(Number(wrong['to']) - Number(wrong['from'])).toBeCloseTo(3600, 3)
  const past = of('target=shop&from=-2h&to=-1h')
  expect(Number(past['to'])).toBeCloseTo(now() - 3600, -1)
  expect(of('compare=nonsense')).toMatchObject({ compare: null })
})

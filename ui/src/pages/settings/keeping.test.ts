import { expect, it } from 'vitest'
import { sharesOf, stillToCome, sum } from './keeping'
import type { Keeping } from '../../core/openapi.gen'

const k = (kind: string, bytes: number, more: Partial<Keeping> = {}): Keeping => ({ kind, path: '', bytes, ...more })

it('what is still to come is of the timed kinds with a known pace alone', () => {
  const all = [k('series', 10, { keep_days: 15, will_take_bytes: 100 }), k('states', 50, { keep_days: 3 }),
    k('ledger', 1000), k('old', 30, { keep_days: 1, will_take_bytes: 20 })]
  expect(stillToCome(all)).toBe(90)
  expect(stillToCome([k('ledger', 1000), k('states', 50, { keep_days: 3 })])).toBeUndefined()
  expect(stillToCome([])).toBeUndefined()
  expect(sum([undefined, 1, 2])).toBe(3)
})

it('what each target takes stands together, its name once', () => {
  const of = (target: string, share: number) => ({ target, share, by: 'series' })
  const all = [k('series', 9, { targets: [of('b', 0.7), of('a', 0.3)] }),
    k('states', 9, { targets: [of('a', 0.9), of('c', 0.1)] })]
  expect(sharesOf(all).map((x) => [x.target, x.kind, x.first])).toEqual(
    [['b', 'series', true], ['a', 'series', true], ['a', 'states', false], ['c', 'states', true]])
})

import { describe, expect, it } from 'vitest'
import { findTargets, parseTyped } from './find'

describe('findTargets', () => {
  const all = [{ name: 'shop-1', address: 'db1:3306', up: true, labels: { env: 'prod' } },
    { name: 'shop-2', address: 'db2:3306', up: false }, { name: 'blog', server: 'mariadb 11.4' }]
  const f = (typed: string, ...want: string[]) => expect(findTargets(all, typed).map((t) => t.name)).toEqual(want)
  it('wants every word somewhere', () => {
    f('', 'shop-1', 'shop-2', 'blog')
    f('SHOP', 'shop-1', 'shop-2')
    f('shop down', 'shop-2')
    f('env=prod', 'shop-1')
    f('mariadb 11', 'blog')
    f('db2', 'shop-2')
    f('nothing')
  })
})

describe('parseTyped', () => {
  const at = new Date(2026, 10, 3, 15, 30, 0).getTime() / 1000
  const f = (s: string, y: number, mo: number, d: number, h: number, mi: number, sec = 0) =>
    expect(parseTyped(s, at)).toBe(new Date(y, mo - 1, d, h, mi, sec).getTime() / 1000)
  it('reads times as people write them', () => {
    f('2026-11-02', 2026, 11, 2, 0, 0)
    f('2026-11-02 9:05', 2026, 11, 2, 9, 5)
    f(' 2026-11-02T09:05:07 ', 2026, 11, 2, 9, 5, 7)
    f('09:05', 2026, 11, 3, 9, 5)
    expect(parseTyped('-2h', at)).toBe(at - 7200)
    expect(parseTyped('now', at)).toBe(at)
    for (const bad of ['', 'noon', '2026-13', '2026-11-02 25:99x', '<b>']) expect(parseTyped(bad, at)).toBeNaN()
  })
})

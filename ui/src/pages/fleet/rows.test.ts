import { describe, expect, it } from 'vitest'
import type { Vitals } from '../../core/stream'
import { byTrouble, filters, row, steady, trouble, type Row } from './rows'
import type { DiagnosisSummary } from '../../core/openapi.gen'

const at = '2026-11-03T12:00:00Z'
const t0 = Date.parse(at) / 1000
const vitals = (o: Partial<Vitals> = {}): Vitals =>
  ({ target: 'shop', at: t0, up: true, reason: '', server: 'mariadb 11.4', v: { qps: 12, threads_running: 3 }, ...o })
const diagnosis = (o: Partial<DiagnosisSummary> = {}): DiagnosisSummary =>
  ({ id: 'd-1', target: 'shop', at, count: 0, share: 0, ...o })

describe('row', () => {
  it('takes the newer of what the list and the stream say', () => {
    expect(
      row({ name: 'shop', up: false, reason: 'gone', at: '2026-11-03T11:59:00Z' }, vitals(), undefined, undefined, t0)
      .up).toBe(true)
    const r = row({ name: 'shop', up: false, reason: 'gone', fix: 'start it', at: '2026-11-03T12:01:00Z' }, vitals(),
      undefined, undefined, t0 + 61)
    expect([r.up, r.reason, r.fix]).toEqual([false, 'gone', 'start it'])
  })
  it('knows no figures of a server that is down, or that has been silent', () => {
    expect(row({ name: 'shop' }, vitals({ up: false, v: { qps: 5 } }), undefined, undefined, t0).qps).toBeUndefined()
    const r = row({ name: 'shop' }, vitals(), undefined, undefined, t0 + 60)
    expect([r.qps, r.silent]).toEqual([undefined, true])
    expect(row({ name: 'shop' }, vitals(), undefined, undefined, t0 + 2)).toMatchObject(
      { qps: 12, running: 3, silent: false })
  })
  it('leaves unknown what was not tried', () => {
    expect(row({ name: 'new' }, undefined, undefined, undefined, t0)).toMatchObject(
      { up: undefined, silent: false, at: undefined })
  })
})

describe('order and filters', () => {
  const make = (name: string, o: Partial<Row>): Row =>
    ({ ...row({ name, up: true }, undefined, undefined, undefined, t0), ...o })
  const rows = [
    make('b10', {}), make('b9', {}), make('down', { up: false }), make('silent', { silent: true }),
      make('new', { up: undefined }),
    make('warned', { diagnosis: diagnosis({ count: 1, severity: 'warning', share: 0.1 }) }),
      make('hot', { diagnosis: diagnosis({ count: 2, severity: 'critical' }) }),
    make('worse', { diagnosis: diagnosis({ count: 1, severity: 'warning', share: 0.6 }) }),
  ]
  it('puts the worst first', () => {
    expect([...rows].sort(byTrouble).map((r) => r.name)).toEqual(
      ['down', 'silent', 'hot', 'worse', 'warned', 'new', 'b9', 'b10'])
    expect(trouble(make('well', {}))).toBe(0)
  })
  it('puts incidents before findings', () => {
    const incident = { id: 'locks-1-x', kind: 'locks', since: at, title: 'Lock pile-up',
      text: 'Lock pile-up: 3 sessions waited' }
    const all = [...rows, make('piled', { target: { name: 'piled', incidents: [incident] } }),
      make('unset', { up: undefined, barred: 'login refused' })]
    expect(all.sort(byTrouble).slice(0, 5).map((r) => r.name)).toEqual(['down', 'silent', 'unset', 'piled', 'hot'])
  })
  it('filters', () => {
    const names = (k: string) => rows.filter(filters[k] ?? (() => false)).map((r) => r.name)
    expect(names('down')).toEqual(['down', 'silent', 'new'])
    expect(names('findings')).toEqual(['warned', 'hot', 'worse'])
    expect(names('all')).toHaveLength(8)
  })
  it('orders by what lasts', () => {
    expect(steady(make('x', { course: [1, 2, 4, null], qps: 100 }))).toBe(3)
    expect(steady(make('x', { qps: 100 }))).toBe(100)
    expect(steady(make('x', { course: [5], up: false }))).toBeUndefined()
  })
})

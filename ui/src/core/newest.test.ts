import { afterEach, describe, expect, it } from 'vitest'
import { newest } from './newest'
import { oldAfter, setSession } from './session'
import type { Vitals } from './stream'
import type { Who as Session } from './openapi.gen'

const at = '2026-11-03T12:00:00Z'
const t0 = Date.parse(at) / 1000
const vitals = (o: Partial<Vitals> = {}): Vitals =>
  ({ target: 'shop', at: t0, up: true, reason: '', server: 'mariadb 11.4', v: { qps: 12 }, ...o })
const session = (o: Partial<Session>): Session =>
  ({ name: 'local', role: 'operator', csrf: '', via: '', read_only: false, login_needed: false, first_run: false,
  link: false, version: '', ...o })
afterEach(() => setSession(null))

describe('newest', () => {
  it('takes the newer of what the list and the stream say', () => {
    expect(newest({ name: 'shop', up: false, reason: 'gone', at: '2026-11-03T11:59:00Z' }, vitals(), t0).up).toBe(true)
    expect(newest({ name: 'shop', up: true, at: '2026-11-03T12:01:00Z' }, vitals({ up: false, reason: 'gone' }), t0 +
      61)).toMatchObject({ up: true, reason: '' })
    expect(newest({ name: 'shop', up: false, reason: 'gone', fix: 'start it', at: '2026-11-03T12:00:05Z' }, vitals(),
      t0 + 6)).toMatchObject({ up: false, reason: 'gone', fix: 'start it', v: {} })
    expect(newest(undefined, vitals(), t0)).toMatchObject({ up: true, v: { qps: 12 } })
    const reason = 'not configured: $X is not set'
    expect(newest({ name: 'shop' }, vitals({ up: false, barred: 'not configured', reason }), t0)).toMatchObject(
      { up: undefined, barred: 'not configured', reason })
    expect(newest({ name: 'shop', not_configured: true, reason, at }, undefined, t0)).toMatchObject(
      { up: undefined, barred: 'not configured', reason })
    expect(newest({ name: 'shop', login_refused: true, reason: 'Error 1045', at }, undefined, t0)).toMatchObject(
      { up: undefined, barred: 'login refused', reason: 'Error 1045' })
    expect(newest(undefined, undefined, t0)).toMatchObject({ up: undefined, silent: false, v: {} })
  })
  it('has no figures of long ago', () => {
    expect(newest({ name: 'shop' }, vitals(), t0 + 15)).toMatchObject({ silent: false, v: { qps: 12 } })
    expect(newest({ name: 'shop' }, vitals(), t0 + 16)).toMatchObject({ up: true, silent: true, v: {} })
  })
  it('is patient where servers are read rarely', () => {
    setSession(session({ every_seconds: 30 }))
    expect(oldAfter()).toBe(90)
    expect(newest({ name: 'shop' }, vitals(), t0 + 60)).toMatchObject({ silent: false, v: { qps: 12 } })
    expect(newest({ name: 'shop' }, vitals(), t0 + 91)).toMatchObject({ silent: true, v: {} })
    setSession(session({ every_seconds: 1 }))
    expect(oldAfter()).toBe(15)
  })
})

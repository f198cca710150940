import { describe, expect, it } from 'vitest'
import { readVitals } from './stream'

describe('readVitals', () => {
  it('reads a second', () => {
    const v = readVitals({ target: 'shop', at: '2026-11-03T12:00:01Z', up: true, server: 'mariadb 11.4', connections: 7,
      vitals: [{ n: 'qps', v: 1.5 }, { n: 'odd' }, { n: 'running', v: 0 }] })
    expect(v).toEqual({ target: 'shop', at: 1793707201, up: true, reason: '', server: 'mariadb 11.4', connections: 7,
      idle: undefined, v: { qps: 1.5, running: 0 } })
    expect(readVitals({ target: 'shop', at: '2026-11-03T12:00:01Z', up: false, login_refused: true })).toMatchObject(
      { up: false, barred: 'login refused' })
  })
  it('takes nothing else', () => {
    for (const x of [null, 7, 'x', {}, { target: 'shop' }, { at: '2026-11-03T12:00:01Z' }])
      expect(readVitals(x)).toBeUndefined()
  })
})

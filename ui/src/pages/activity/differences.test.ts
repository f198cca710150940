import { expect, test } from 'vitest'
import { differences } from './differences'
import type { Session, State } from '../../core/openapi.gen'

const s = (id: number, more: Partial<Session> = {}): Session =>
  ({ id, command: 'Query', seconds: 1, sql: 'SELECT 1', phase: 'executing', ...more })
const at = (sec: number, sessions: Session[], more: Partial<State> = {}): State =>
  ({ target: 'x', at: new Date(1e12 + sec * 1000).toISOString(), up: true, sessions, ...more })

test('each session once, by what matters most', () => {
  const before = at(0, [s(1), s(2), s(3), s(4), s(5), s(9), s(10, { command: 'Sleep' })])
  const d = differences(
    at(1, [s(1, { seconds: 2 }), s(2, { sql: 'SELECT 2', seconds: 0 }), s(3, { seconds: 2, phase: 'Sending data' }),
      s(4, { seconds: 2, phase: 'updating' }), s(5, { seconds: 0 }), s(6)], {
      waits: [{ kind: 'row', waiter: 4 }],
    }),
    before,
  )
  expect([...d.sessions]).toEqual([[2, 'statement'], [3, 'phase'], [4, 'waits'], [5, 'statement'], [6, 'new']])
  expect(d.ended).toBe(1)
  expect(d.known).toBe(true)
})

test('nothing is claimed without the second before', () => {
  const now = at(10, [s(1)])
  for (const before of [undefined, at(0, []), at(10, []), at(11, []), { ...at(9, []), up: false }]) {
    const d = differences(now, before)
    expect(d.known).toBe(false)
    expect(d.sessions.size + d.ended).toBe(0)
  }
})

import { expect, it } from 'vitest'
import type { Symptom } from '../../core/openapi.gen'
import { unseen } from './unseen'

const blind = (subject: string, lost: string): Symptom => ({
  id: 'not-observable:' + subject, kind: 'not-observable', subject, title: 'data unavailable: ' + lost,
    evidence: [{ what: 'source ' + subject, source: subject, text: 'it is off' }],
})

it('lists every source that gave nothing, and what is lost', () => {
  const scan: Symptom = { id: 'scan:A', kind: 'scan', subject: 'A', title: 'A reads much', evidence: null }
  expect(
    unseen({
      symptoms: [scan, blind('digests', 'exact figures'), blind('host', 'the disks')],
      sources: [{ name: 'digests', state: 'denied', reads: 0, reason: 'no grant', fix: 'GRANT' },
        { name: 'events', state: 'missing', reads: 0 }],
    }),
  ).toEqual([
    { what: 'digests', why: ['Unknown without it: exact figures.', 'no grant'], fix: 'GRANT' },
    { what: 'events', why: [], fix: undefined },
    { what: 'the disks', why: ['it is off'] },
  ])
  expect(unseen({ symptoms: [scan], sources: [] })).toEqual([])
})

import { describe, expect, it } from 'vitest'
import { match, type Key } from './keys'

const key = (help: string): Key => ({ help, run: () => {} })
const shell = { 'g q': key('queries'), 'g s': key('overview'), '/': key('search') }
const page = { j: key('next'), '/': key('its own search') }

describe('match', () => {
  const f = (before: string, k: string, help: string | undefined, pending: string) => {
    const m = match([page, shell], before, k)
    expect([m.run?.help, m.pending]).toEqual([help, pending])
  }
  it('finds single keys, the newest layer first', () => {
    f('', 'j', 'next', '')
    f('', '/', 'its own search', '')
    f('', 'x', undefined, '')
  })
  it('finds pairs', () => {
    f('', 'g', undefined, 'g')
    f('g', 'q', 'queries', '')
  })
  it('forgets a pair that is none', () => {
    f('g', 'j', undefined, '')
    f('g', 'g', undefined, '')
  })
})

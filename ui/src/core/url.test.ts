import { describe, expect, it } from 'vitest'
import { parse, query } from './url'

describe('parse', () => {
  const page = (path: string) => parse(path, '').page
  it('takes the last part of the path', () => {
    expect(page('/')).toBe('fleet')
    expect(page('/overview')).toBe('overview')
    expect(page('/behind/a/proxy/queries')).toBe('queries')
    expect(page('/behind/a/proxy/')).toBe('fleet')
    expect(page('/%E2%82')).toBe('%E2%82') // not UTF-8: no page, and no exception
    expect(page('/%3Cscript%3E')).toBe('<script>')
  })
  it('reads the query', () => {
    expect(parse('/overview', '?target=a%26b&from=-1h').params.get('target')).toBe('a&b')
  })
})

describe('query', () => {
  it('leaves out what is nothing and keeps the order', () => {
    expect(query([['target', 'shop'], ['from', null], ['to', undefined], ['q', ''], ['n', 0]])).toBe('?target=shop&n=0')
    expect(query([])).toBe('')
  })
  it('comes back as it was', () => {
    const odd = 'a&b=c d+e/f:g,h#i?j%k\u202e"<>'
    expect(parse('/x', query([['q', odd]])).params.get('q')).toBe(odd)
  })
  it('keeps addresses readable', () => {
    expect(query([['sort', '-load'], ['at', '2026-11-03T12:00:00Z']])).toBe('?sort=-load&at=2026-11-03T12:00:00Z')
  })
})

import { describe, expect, it } from 'vitest'
import { browserOf, nextPage, passwordProblem } from './rules'

describe('nextPage', () => {
  it('leads to a page of its own', () => {
    expect(nextPage('overview?target=shop&from=-1h')).toBe('overview?target=shop&from=-1h')
    expect(nextPage('')).toBe('')
    expect(nextPage('?q=x')).toBe('?q=x')
  })
  it('leads nowhere else', () => {
    for (const x of ['https://evil.example/', '//evil.example', '/\\evil.example', 'javascript:alert(1)', '../x',
      'overview#x', 'login?next=login', 'data:text/html,x', ' overview', 'a/b'])
      expect(nextPage(x)).toBe('')
  })
})

describe('passwordProblem', () => {
  it('asks for length and for the same twice', () => {
    expect(passwordProblem('short', 'short')).toContain('12')
    expect(passwordProblem('three green bottles', 'three green bottle')).toContain('differ')
    expect(passwordProblem('three green bottles', 'three green bottles')).toBe('')
    expect(passwordProblem('👍👍👍👍👍👍', '👍👍👍👍👍👍')).toContain('12')
  })
})

describe('browserOf', () => {
  it('distinguishes browsers', () => {
    expect(browserOf('Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0')).toBe(
      'Firefox 131 on Linux')
    expect(
      browserOf(
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 ' +
        'Safari/537.36 Edg/130.0.2849.56')).toBe('Edge 130 on Windows')
    expect(
      browserOf(
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 ' +
        'Safari/605.1.15')).toBe('Safari 17 on macOS')
    expect(browserOf('curl/8.5')).toBe('curl/8.5')
    expect(browserOf(undefined)).toBe('–')
    expect(browserOf('x'.repeat(100))).toHaveLength(40)
  })
})

import { describe, expect, it } from 'vitest'
import { address, asError, problem, ApiError } from './api'

describe('address', () => {
  it('is relative, and repeats what is a list', () => {
    expect(address('targets')).toBe('./api/dyno/v1/targets')
    expect(address('graphs', { target: 'a b', panel: ['x', 'y'], lines: true, from: 0, to: null, at: undefined })).toBe(
      './api/dyno/v1/graphs?target=a+b&panel=x&panel=y&lines=1&from=0')
  })
})

describe('problem', () => {
  it('takes what the server says', () => {
    const e = problem(404, { status: 'error', errorType: 'not_found', error: 'target "x": not found', hint: 'look' })
    expect([e.status, e.type, e.message, e.hint]).toEqual([404, 'not_found', 'target "x": not found', 'look'])
  })
  it('makes the best of what is no JSON', () => {
    expect(problem(502, undefined, '<h1>Bad gateway</h1>').message).toBe('<h1>Bad gateway</h1>')
    expect(problem(500, { error: 7 }).message).toBe('the server answered 500')
    expect(problem(500, null).message).toBe('the server answered 500')
  })
})

describe('asError', () => {
  it('keeps what is one', () => {
    const e = new ApiError(400, 'bad_data', 'no')
    expect(asError(e)).toBe(e)
    expect(asError(new Error('oh')).message).toBe('oh')
    expect(asError('oh').message).toBe('oh')
  })
})

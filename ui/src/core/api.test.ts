import { afterEach, describe, expect, it, vi } from 'vitest'
import { address, asError, early, get, problem, ApiError } from './api'

describe('address', () => {
  it('is relative, and repeats what is a list', () => {
    expect(address('targets')).toBe('./api/dyno/v1/targets')
    expect(address('graphs', { target: 'a b', panel: ['x', 'y'], lines: true, from: 0, to: null, at: undefined })).toBe('./api/dyno/v1/graphs?target=a+b&panel=x&panel=y&lines=1&from=0')
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

describe('early', () => {
  afterEach(() => vi.unstubAllGlobals())
  const serve = () => {
    let n = 0
    vi.stubGlobal('fetch', (url: string) => Promise.resolve(new Response(JSON.stringify({ url, n: ++n }))))
  }
  const answer = (o: object, status = 200) => Promise.resolve(new Response(JSON.stringify(o), { status }))
  it('gives what is on its way to who asks for that, once', async () => {
    serve()
    early({ [address('graphs', { target: 'a' })]: answer({ n: 'early' }) })
    expect(await get('graphs', { target: 'b' })).toMatchObject({ n: 1 })
    expect(await get('graphs', { target: 'a' })).toEqual({ n: 'early' })
    expect(await get('graphs', { target: 'a' })).toMatchObject({ n: 2 })
  })
  it('asks again for what was refused or lost', async () => {
    serve()
    for (const wrong of [answer({}, 500), Promise.resolve(undefined), Promise.reject(new Error('away'))]) {
      early({ [address('session')]: wrong })
      expect(await get('session')).toMatchObject({ url: './api/dyno/v1/session' })
    }
  })
})

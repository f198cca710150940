import { afterEach, describe, expect, it, vi } from 'vitest'
import { address, ahead, asError, get, problem, ApiError } from './api'

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

describe('ahead', () => {
  afterEach(() => vi.unstubAllGlobals())
  // serve answers with what the requests are counted to.
  const serve = (...status: number[]) => {
    const asked: string[] = []
    vi.stubGlobal('fetch', (url: string) => {
      asked.push(url)
      return Promise.resolve(new Response(JSON.stringify({ n: asked.length }), { status: status[asked.length - 1] ?? 200 }))
    })
    return asked
  }
  it('asks once for what is read soon', async () => {
    const asked = serve()
    ahead('targets')
    expect(await get('targets')).toEqual({ n: 1 })
    expect(await get('targets')).toEqual({ n: 2 }) // later ones are new
    expect(await get('graphs', { target: 'a' })).toEqual({ n: 3 })
    expect(asked).toEqual(['./api/dyno/v1/targets', './api/dyno/v1/targets', './api/dyno/v1/graphs?target=a'])
  })
  it('takes an answer that is on its way, and asks again for one that was refused', async () => {
    serve()
    ahead('session', {}, Promise.resolve(new Response('{"n": "before"}')))
    expect(await get('session')).toEqual({ n: 'before' })
    for (const wrong of [Promise.resolve(new Response('{}', { status: 500 })), Promise.resolve(undefined), Promise.reject(new Error('away'))]) {
      ahead('session', {}, wrong)
      expect(await get('session')).not.toEqual({})
    }
  })
})

import { afterEach, describe, expect, it, vi } from 'vitest'
import { address, asError, problem, ApiError } from './api'

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

describe('what theme.js asked for', () => {
  afterEach(() => {
    vi.unstubAllGlobals()
    vi.resetModules()
  })
  // page is the module on a page whose first script asked for this.
  const page = async (dynoEarly: Record<string, Promise<string | undefined>>) => {
    let n = 0
    vi.stubGlobal('window', { dynoEarly })
    vi.stubGlobal('fetch', (url: string) => Promise.resolve(new Response(JSON.stringify({ url, n: ++n }))))
    vi.resetModules()
    return import('./api')
  }
  it('is given to who asks for that, once', async () => {
    const { get } = await page({ [address('graphs', { target: 'a' })]: Promise.resolve('{"n": "early"}') })
    expect(await get('graphs', { target: 'b' })).toMatchObject({ n: 1 })
    expect(await get('graphs', { target: 'a' })).toEqual({ n: 'early' })
    expect(await get('graphs', { target: 'a' })).toMatchObject({ n: 2 })
  })
  it('is asked for again when there was no answer', async () => {
    const { get } = await page({ [address('session')]: Promise.resolve(undefined) })
    expect(await get('session')).toMatchObject({ url: './api/dyno/v1/session', n: 1 })
  })
})

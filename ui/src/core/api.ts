// The one place that speaks HTTP.
import { observeClock } from './clock'
import type { paths } from './openapi.gen'
import { login, session, setSession } from './session'

type Base = '/api/dyno/v1/'
type Json<R> = R extends { content: { 'application/json': infer T } } ? T : never
type Operation<M extends 'get' | 'post',
  P extends string> = paths[`${Base}${P}` & keyof paths] extends Record<M, infer O> ? O : never

/** The paths of the API that answer JSON, without what all begin with. */
export type Path<M extends 'get' | 'post'> = keyof { [K in keyof paths as paths[K] extends Record<M,
  unknown> ? (K extends `${Base}${infer P}` ? P : never) : never]: 0 }

/** What a path of the API answers. */
export type Answer<P extends Path<'get'>> = Operation<'get',
  P> extends { responses: { 200: infer R } } ? Json<R> : never

/** What is sent to a path of the API. */
export type Body<P extends Path<'post'>> = Operation<'post',
  P> extends { requestBody: { content: { 'application/json': infer T } } } ? T : never

/** What a path of the API answers to what was sent; one that previews answers a task when it executes. */
export type Done<P extends Path<'post'>> = Operation<'post',
  P> extends { responses: infer R } ? { [C in keyof R]: Json<R[C]> }[keyof R] : never

/** What went wrong. status 0: no answer. */
export class ApiError extends Error {
  readonly status: number
  readonly type: string
  readonly hint: string
  constructor(status: number, type: string, message: string, hint = '') {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.type = type
    this.hint = hint
  }
}

/** What the Prometheus API answers for a range. */
export interface Matrix { warnings?: string[]; data: { result: { metric: Record<string, string>; values: [number, string][] }[] } }

export type Params = Record<string, string | number | boolean | string[] | null | undefined>

/** The address of a path of Dyno's API, relative to the page, so that it works behind a path of a proxy too. */
export function address(path: string, params: Params = {}): string {
  const q = new URLSearchParams()
  for (const [k, v] of Object.entries(params)) {
    if (v === null || v === undefined) continue
    if (Array.isArray(v)) for (const x of v) q.append(k, x)
    else q.set(k, typeof v === 'boolean' ? (v ? '1' : '0') : String(v))
  }
  const s = q.toString()
  return './api/dyno/v1/' + path + (s === '' ? '' : '?' + s)
}

const plain = { Accept: 'application/json' }
const usual: RequestInit = { credentials: 'same-origin', cache: 'no-store' }

/** Reads. */
export function get<P extends Path<'get'>>(path: P, params?: Params, signal?: AbortSignal): Promise<Answer<P>> {
  return ask(address(path, params), { signal: signal ?? null })
}

/** Reads a path of Prometheus' API. */
export function prometheus<T>(path: string, params: Params, signal?: AbortSignal): Promise<T> {
  return ask(address('../../v1/' + path, params), { signal: signal ?? null })
}

/** Evaluates PromQL over a range. */
export function queryRange(params: Params, signal?: AbortSignal): Promise<Matrix> {
  return prometheus('query_range', params, signal)
}

/** Changes something. */
export function post<P extends Path<'post'>>(path: P, body: Body<P>, signal?: AbortSignal): Promise<Done<P>> {
  return ask(address(path), { method: 'POST', body: JSON.stringify(body), signal: signal ?? null })
}

async function ask<T>(url: string, o: RequestInit): Promise<T> {
  const asker = session.peek()?.name
  for (let renewed = false; ; ) {
    const headers: Record<string, string> = { ...plain }
    if (o.method === 'POST') {
      headers['Content-Type'] = 'application/json'
      const csrf = session.peek()?.csrf
      if (csrf) headers['X-Dyno-CSRF'] = csrf
    }
    const r = await send(url, { ...o, ...usual, headers })
    // A session that ended in the middle of work: log in over the page, then go on with what was asked for.
    if (r.status === 401 && !/\/(login|session)(\/|$|\?)/.test(url)) {
      await login(o.signal ?? undefined)
      const name = session.peek()?.name
      if (o.method === 'POST' && name !== asker) throw another(name)
      continue
    }
    try {
      return await answer<T>(r)
    } catch (e) {
      // Another tab logged in again: its session has another token.
      if (renewed || !(e instanceof ApiError) || e.type !== 'csrf') throw e
      renewed = true
      const s = await answer<Answer<'session'>>(await send(address('session'), { ...usual, headers: plain }))
      if (s.name !== asker) throw another(s.name)
      setSession(s)
    }
  }
}

/** What one user asked to have changed is never sent again as another. */
function another(name: string | undefined): ApiError {
  return new ApiError(403, 'csrf', `this browser is now ${name ? 'logged in as ' + name : 'logged out'}`,
    'Reload the page to continue.')
}

async function send(url: string, o: RequestInit): Promise<Response> {
  try {
    const r = await fetch(url, o)
    observeClock(r.headers.get('Date'))
    return r
  } catch (e) {
    if (e instanceof DOMException && e.name === 'AbortError') throw e
    throw new ApiError(0, 'network', 'Dyno does not answer',
      'Is `dyno serve` still running? This page reconnects automatically.')
  }
}

async function answer<T>(r: Response): Promise<T> {
  if (r.status === 204) return undefined as T
  const text = await r.text()
  let body: unknown
  try {
    body = text === '' ? undefined : JSON.parse(text)
  } catch {
    body = undefined
  }
  if (r.ok && body !== undefined) return body as T
  throw problem(r.status, body, text)
}

/** Makes an error of an answer that is none. */
export function problem(status: number, body: unknown, text = ''): ApiError {
  const b: Record<string, unknown> = typeof body === 'object' && body !== null ? { ...body } : {}
  const say = (k: string) => (typeof b[k] === 'string' ? b[k] : '')
  return new ApiError(status, say('errorType') || 'internal', say('error') || text.slice(0, 300).trim() ||
    `the server answered ${status}`, say('hint'))
}

/** Whatever was thrown, as an ApiError. */
export function asError(e: unknown): ApiError {
  if (e instanceof ApiError) return e
  return new ApiError(0, 'page', e instanceof Error ? e.message : String(e))
}

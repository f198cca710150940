// What happens, as it happens: one event stream for the whole page.
import { computed, signal, type ReadonlySignal } from './signal'
import { useMemo } from 'preact/hooks'
import { address } from './api'
import { loginWanted, oldAfter } from './session'

/** The newest second of a target. */
export interface Vitals {
  target: string
  at: number // unix seconds
  up: boolean
  barred?: Barred // Dyno is not configured to ask, or not let in: it is not down
  reason: string
  server: string
  connections?: number | undefined
  idle?: number | undefined
  v: Record<string, number> // by name, see internal/state: qps, threads_running, … What is not in it is not known.
}

const state = signal<'connecting' | 'live' | 'lost'>('connecting')
/** Whether the stream flows. */
export const connected: ReadonlySignal<'connecting' | 'live' | 'lost'> = state

const all = signal(new Map<string, Vitals>())
const listeners = new Map<string, Set<(data: unknown) => void>>()
let source: EventSource | undefined
let heard = 0 // when something came, ms
let flowing = false // readings came: silence is a sign
let fresh = new Map<string, Vitals>()
let flush: ReturnType<typeof setTimeout> | undefined

/** Why a server that is not known to be down cannot be read. */
export type Barred = 'not configured' | 'login refused'

export function barredOf(notConfigured: unknown, loginRefused: unknown): { barred?: Barred } {
  return notConfigured === true ? { barred: 'not configured' }
    : loginRefused === true ? { barred: 'login refused' } : {}
}

/** Reads the data of an event "vitals"; undefined when it is none. */
export function readVitals(data: unknown): Vitals | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  const d = data as Record<string, unknown>
  if (typeof d['target'] !== 'string' || typeof d['at'] !== 'string') return undefined
  const v: Record<string, number> = {}
  if (Array.isArray(d['vitals']))
    for (const x of d['vitals'] as { n?: unknown; v?: unknown }[])
      if (typeof x.n === 'string' && typeof x.v === 'number') v[x.n] = x.v
  const num = (k: string) => (typeof d[k] === 'number' ? d[k] : undefined)
  const str = (k: string) => (typeof d[k] === 'string' ? d[k] : '')
  return {
    target: d['target'], at: Date.parse(d['at']) / 1000, up: d['up'] === true, reason: str('reason'),
      server: str('server'),
    connections: num('connections'), idle: num('idle'), v, ...barredOf(d['not_configured'], d['login_refused']),
  }
}

function take(event: string, raw: unknown): void {
  heard = Date.now()
  let data: unknown
  try {
    data = JSON.parse(String(raw))
  } catch {
    return
  }
  if (event === 'vitals') {
    const v = readVitals(data)
    if (v) {
      flowing = true
      fresh.set(v.target, v)
      // Two hundred targets are two hundred events a second; they are shown together.
      flush ??= setTimeout(() => {
        flush = undefined
        const next = new Map(all.value)
        for (const [k, x] of fresh) next.set(k, x)
        fresh = new Map()
        all.value = next
      }, 100)
    }
  }
  for (const f of listeners.get(event) ?? []) f(data)
}

function open(): void {
  close()
  const s = new EventSource(address('stream'))
  source = s
  heard = Date.now()
  flowing = false
  s.onopen = () => {
    heard = Date.now()
    state.value = 'live'
  }
  s.onerror = () => {
    state.value = 'lost' // the browser tries again by itself, unless it was refused
  }
  for (const name of new Set(['vitals', ...listeners.keys()]))
    s.addEventListener(name, (e) => take(name, (e as MessageEvent).data))
}

function close(): void {
  source?.close()
  source = undefined
}

/** Begins to follow; called once. A hidden tab lets go of its connection: browsers have six of them for one server. */
export function followStream(): void {
  open()
  let away: ReturnType<typeof setTimeout> | undefined
  document.addEventListener('visibilitychange', () => {
    clearTimeout(away)
    if (document.hidden) away = setTimeout(close, 10_000)
    else if (!source) {
      state.value = 'connecting'
      open()
    }
  })
  // A page that was left is kept for the way back, and its connection with it.
  addEventListener('pagehide', () => {
    clearTimeout(away)
    close()
  })
  addEventListener('pageshow', (e) => {
    if (!e.persisted || source) return
    state.value = 'connecting'
    open()
  })
  setInterval(() => {
    if (!source || loginWanted.value) return // a login is asked for elsewhere
    const silent = Date.now() - heard
    if (source.readyState === EventSource.CLOSED ? silent > 3000 : flowing && silent > 1000 * (oldAfter() + 5)) {
      if (state.value === 'live') state.value = 'lost'
      open()
    }
  }, 1000)
}

/** The newest second of each target (of those named, else of all), by name. Reading .value follows it. */
export function useVitals(targets?: string[]): ReadonlySignal<Map<string, Vitals>> {
  const key = targets?.join('\n')
  return useMemo(() => {
    if (targets === undefined) return all
    const wanted = new Set(targets)
    let last = new Map<string, Vitals>()
    return computed(() => {
      const next = new Map([...all.value].filter(([k]) => wanted.has(k)))
      // the same as long as nothing of them changed, so that others' seconds draw nothing
      if (next.size !== last.size || [...next].some(([k, v]) => last.get(k) !== v)) last = next
      return last
    })
  }, [key])
}

/**
 * Calls f with the data of each event of that name ("event", "task", "note", …) until the returned function is called.
 */
export function onStream(event: string, f: (data: unknown) => void): () => void {
  let set = listeners.get(event)
  if (!set) {
    set = new Set()
    listeners.set(event, set)
    if (event !== 'vitals') source?.addEventListener(event, (e) => take(event, (e as MessageEvent).data))
  }
  set.add(f)
  return () => set.delete(f)
}

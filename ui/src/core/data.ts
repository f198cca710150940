// Data that a component shows: loaded, reloaded, aborted, never blinking.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { address, asError, get, type Answer, type ApiError, type Params, type Path } from './api'
import { now } from './clock'

export interface Data<T> {
  value?: T | undefined // the newest that came, also while loading and after a reload that failed
  error?: ApiError | undefined // of the newest try
  loading: boolean
  at?: number | undefined // when value came, unix seconds
  reload(): void
}

interface Reloading<T> { every?: number | ((value: T | undefined, tries: number) => number); keep?: boolean }

interface State<T> {
  key: string | null
  value?: T | undefined
  error?: ApiError | undefined
  loading: boolean
  at?: number | undefined
}

/**
 * What is known when a load of key begins. An error is of its own key only: under a new one it would be said of what
 * no one tried yet.
 */
export function begun<T>(old: State<T>, key: string, keep: boolean): State<T> {
  if (old.key === key) return { ...old, loading: true }
  return keep ? { ...old, key, error: undefined, loading: true } : { key, loading: true }
}

/**
 * Loads when key changes (null: nothing to load) and every o.every ms, not while the tab is hidden. A new key aborts
 * what runs and, with o.keep, continues to show the old value until the new one is there; without it the old value is
 * gone at once. As a function, o.every gets the newest value and how often it was looked since someone asked; 0 is
 * never again.
 */
export function useData<T>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  o: Reloading<T> = {},
): Data<T> {
  const [s, set] = useState<State<T>>({ key, loading: key !== null })
  const latest = useRef(load)
  latest.current = load
  const again = useRef(() => {})
  const pause = useRef(o.every)
  pause.current = o.every
  const every = typeof o.every === 'function' ? true : (o.every ?? 0)
  const keep = o.keep ?? false

  useEffect(() => {
    if (key === null) {
      set({ key, loading: false })
      again.current = () => {}
      return
    }
    let ended = false
    let timer: ReturnType<typeof setTimeout> | undefined
    let control: AbortController | undefined
    let due = Infinity
    let tries = 0
    let newest: T | undefined
    set((old) => begun(old, key, keep))

    const plan = () => {
      clearTimeout(timer)
      tries++
      const p = pause.current ?? 0
      const ms = typeof p === 'function' ? p(newest, tries) : p
      due = ms > 0 ? Date.now() + ms : Infinity
      if (ended || ms <= 0) return
      timer = setTimeout(() => {
        if (!document.hidden) run()
      }, ms)
    }
    const run = () => {
      clearTimeout(timer)
      control?.abort()
      const mine = new AbortController()
      control = mine
      set((old) => (old.loading ? old : { ...old, loading: true }))
      latest.current(mine.signal).then(
        (value) => {
          if (ended || control !== mine) return
          newest = value
          set({ key, value, loading: false, at: now() })
          plan()
        },
        (e: unknown) => {
          if (ended || control !== mine) return
          set((old) => ({ ...old, error: asError(e), loading: false }))
          plan()
        },
      )
    }
    const shown = () => {
      if (!document.hidden && Date.now() >= due) run()
    }
    again.current = () => {
      tries = 0
      run()
    }
    document.addEventListener('visibilitychange', shown)
    run()
    return () => {
      ended = true
      clearTimeout(timer)
      control?.abort()
      document.removeEventListener('visibilitychange', shown)
    }
  }, [key, every, keep])

  const reload = useCallback(() => again.current(), [])
  const mine = s.key === key
  const fresh = mine || keep
  return {
    value: fresh ? s.value : undefined, error: mine ? s.error : undefined, loading: mine ? s.loading : key !== null,
    at: fresh ? s.at : undefined, reload,
  }
}

/** Loads what the API has under a path; null: nothing. */
export function useGet<P extends Path<'get'>>(path: P | null, params: Params = {},
  o: Reloading<Answer<P>> = {}): Data<Answer<P>> {
  return useData(path && address(path, params), (signal) => get(path as P, params, signal), o)
}

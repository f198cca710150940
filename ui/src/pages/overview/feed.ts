// The figures of the page: loaded once, then only what is new.
import { useEffect, useRef, useState } from 'preact/hooks'
import { asError, get, now, readRange, type ApiError, type Params } from '../../core'
import { join, type Graphs } from '../../graph'
import { asks, type Asked } from './asked'

interface Feed {
  graphs?: Graphs | undefined
  error?: ApiError | undefined
  loading: boolean
  live: boolean
  reload: () => void
}

/** Whether anything is known in graphs. */
export function anything(g: Graphs): boolean {
  return g.panels.some((p) => p.lines.some((l) => l.unknown === undefined && l.mean.some((v) => v !== null)))
}

/**
 * From when on the newest figures are asked for again: the last steps were not over, and sources that are read rarely
 * come later.
 */
export function tailFrom(end: number, step: number): number {
  return end - Math.max(2 * step, 30)
}

/**
 * The wait until the next figures, ms: the pace of the steps; while there is nothing each second, and after a minute
 * more rarely.
 */
export function pace(g: Graphs, tries: number): number {
  if (anything(g)) return Math.max(1, Math.min(g.step, 60)) * 1000
  return tries < 60 ? 1000 : 10_000
}

export function useFeed(a: Asked): Feed {
  const key = JSON.stringify(a)
  const [s, set] =
    useState<{ key: string; graphs?: Graphs | undefined; error?: ApiError | undefined; loading: boolean }>(
    { key, loading: true })
  const again = useRef(() => {})
  const range = readRange(a.from, a.to, now())
  const live = range.live

  useEffect(() => {
    let ended = false
    let timer: ReturnType<typeof setTimeout> | undefined
    let control: AbortController | undefined
    let graphs: Graphs | undefined
    let tries = 0
    const ask = (more: Params) => {
      control?.abort()
      const mine = new AbortController()
      control = mine
      return get('graphs', { ...asks(a), ...more }, mine.signal).then(
        (g) => (mine === control && !ended ? g : undefined))
    }
    const plan = (ms: number) => {
      clearTimeout(timer)
      if (!ended && live) timer = setTimeout(() => !document.hidden && void tail(), ms)
    }
    const failed = (e: unknown) => {
      if (ended || (e instanceof DOMException && e.name === 'AbortError')) return
      set((o) => ({ ...o, key, error: asError(e), loading: false }))
      plan(3000)
    }
    const full = async () => {
      set((o) => ({ ...o, key, graphs: o.key === key || sameView(o.key, key) ? o.graphs : undefined, loading: true }))
      try {
        const g = await ask({})
        if (!g) return
        graphs = g
        set({ key, graphs: g, loading: false })
        plan(pace(g, tries++))
      } catch (e) {
        failed(e)
      }
    }
    const tail = async () => {
      const r = readRange(a.from, a.to, now())
      const old = graphs
      if (!old || r.from > old.to || Math.ceil((r.to - r.from) / old.step) > 1990) return full()
      try {
        const g =
          await ask({ from: Math.max(r.from, tailFrom(old.to, old.step)), to: r.to, points: null, step: old.step })
        if (!g) return
        graphs = join(old, g, r.from)
        const next = graphs
        set({ key, graphs: next, loading: false })
        plan(pace(next, tries++))
      } catch (e) {
        failed(e)
      }
    }
    const shown = () => {
      if (!document.hidden && live) void tail()
    }
    again.current = () => void full()
    document.addEventListener('visibilitychange', shown)
    void full()
    return () => {
      ended = true
      clearTimeout(timer)
      control?.abort()
      document.removeEventListener('visibilitychange', shown)
    }
  }, [key])

  const mine = s.key === key || sameView(s.key, key)
  return { graphs: mine ? s.graphs : undefined, error: s.key === key ? s.error : undefined,
    loading: s.loading || s.key !== key, live, reload: () => again.current() }
}

/** Whether what is there may stay until the new is there: the same server and the same panels. */
function sameView(a: string, b: string): boolean {
  const x = JSON.parse(a) as Asked
  const y = JSON.parse(b) as Asked
  return x.target === y.target && x.panels.join() === y.panels.join()
}

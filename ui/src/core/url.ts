// The URL is the only view state: the page is the last part of the path, everything else is in the query.
import { signal, type ReadonlySignal } from './signal'
import { useCallback } from 'preact/hooks'

/** Every page that has an address. '' in the address is the fleet. */
export const pages = [
  'fleet', 'overview', 'activity', 'queries', 'explorer', 'findings', 'changes', 'experiments', 'overhead', 'settings', 'login',
  'welcome'] as const
export type PageName = (typeof pages)[number]

/** What the links from page to page take along. */
export const kept = ['target', 'from', 'to']

export interface Route { page: string; params: URLSearchParams }

/** Reads an address: parse('/overview', '?target=shop'). */
export function parse(path: string, query: string): Route {
  const last = path.slice(path.lastIndexOf('/') + 1)
  return { page: last === '' ? 'fleet' : decode(last), params: new URLSearchParams(query) }
}

function decode(s: string): string {
  try {
    return decodeURIComponent(s)
  } catch {
    return s
  }
}

/** Writes a query; names in the order given, nothing for what is null, undefined or empty. */
export function query(params: Iterable<[string, string | number | null | undefined]>): string {
  const q = new URLSearchParams()
  for (const [k, v] of params) if (v !== null && v !== undefined && v !== '') q.set(k, String(v))
  const s = q.toString().replaceAll('%3A', ':').replaceAll('%2C', ',').replaceAll('%2F', '/')
  return s === '' ? '' : '?' + s
}

const here = signal<Route>(typeof location === 'undefined' ? parse('/', '') : parse(location.pathname, location.search))

/** Where we are. */
export const route: ReadonlySignal<Route> = here

/** A link to a page; it takes target, from and to along unless keep says otherwise. Null in params leaves one out. */
export function href(page: string, params: Record<string, string | number | null | undefined> = {},
  keep: string[] = kept): string {
  const all = new Map<string, string | number | null | undefined>()
  for (const k of keep) all.set(k, here.value.params.get(k))
  for (const [k, v] of Object.entries(params)) all.set(k, v)
  return './' + (page === 'fleet' ? '' : page) + query(all)
}

/** What a step of the browser's history keeps besides its address. */
interface Step {
  y?: number // how far down the page was
  mark?: string // why the step was made, for who wants to undo it
}

// Browsers allow few changes of the history in a time (Safari a hundred in 30 s) and throw for those beyond. What
// replaces comes at pointer rate: it is written at most each 350 ms, and what is on the screen does not wait for it.
const pace = 350 // ms
let waiting: { url: string; step: Step } | undefined // what the history does not have yet
let timer: ReturnType<typeof setTimeout> | undefined
let wrote = 0

function stepNow(): Step {
  return waiting?.step ?? (history.state as Step | null) ?? {}
}

function addressNow(): string {
  return waiting?.url ?? location.href
}

/** Why the step of the history that is shown was made: what go was given as mark, '' for nothing. */
export function markNow(): string {
  return stepNow().mark ?? ''
}

function later(url: string, step: Step): void {
  waiting = { url, step }
  timer ??= setTimeout(flush, Math.max(0, wrote + pace - Date.now()))
}

function flush(): void {
  clearTimeout(timer)
  timer = undefined
  if (!waiting) return
  wrote = Date.now()
  try {
    history.replaceState(waiting.step, '', waiting.url)
    waiting = undefined
  } catch {
    timer = setTimeout(flush, 10 * pace) // too many: the address follows
  }
}

function forget(): void {
  clearTimeout(timer)
  timer = undefined
  waiting = undefined
}

/** Goes to an address of the page, as href gives it. */
export function go(url: string, o: { replace?: boolean; mark?: string } = {}): void {
  const to = new URL(url, location.href)
  if (to.href === addressNow()) return
  const before = here.value.page
  if (o.replace) {
    later(to.href, stepNow())
    if (wrote + pace <= Date.now()) flush()
  } else {
    keepPlace()
    flush()
    forget()
    const step: Step = o.mark ? { mark: o.mark } : {}
    try {
      history.pushState(step, '', to)
    } catch {
      later(to.href, step) // too many: it takes the place of the step before
    }
  }
  stopRestoring()
  here.value = parse(to.pathname, to.search)
  if (here.value.page !== before) scrollTo(0, 0)
}

/** Writes down how far down the page is. */
function keepPlace(): void {
  if (!restoring && stepNow().y !== scrollY) later(addressNow(), { ...stepNow(), y: scrollY })
}

const signs = ['wheel', 'touchstart', 'pointerdown', 'keydown'] // of a user who scrolls elsewhere
let restoring = 0 // the frame that is asked for

function stopRestoring(): void {
  cancelAnimationFrame(restoring)
  restoring = 0
  for (const s of signs) removeEventListener(s, stopRestoring, true)
}

/**
 * Scrolls to where a step of the history was, and holds the page there while what makes it that long goes and comes.
 */
function restore(y: number): void {
  stopRestoring()
  scrollTo(0, y)
  if (y === 0) return
  const began = Date.now()
  for (const s of signs) addEventListener(s, stopRestoring, { capture: true, passive: true })
  const again = () => {
    scrollTo(0, y)
    const held = Date.now() - began
    if (held > 3000 || (held > 500 && Math.abs(scrollY - y) < 1)) stopRestoring()
    else restoring = requestAnimationFrame(again)
  }
  restoring = requestAnimationFrame(again)
}

/** A link to the metric explorer with expressions of PromQL, in the time that is shown. */
export function exploreLink(exprs: string[]): string {
  return href('explorer', { expr: exprs.join('\n') })
}

/** This address with some parameters changed. */
export function withParams(changes: Record<string, string | number | null | undefined>): string {
  const all = new Map<string, string | number | null | undefined>(here.value.params)
  for (const [k, v] of Object.entries(changes)) all.set(k, v)
  const page = here.value.page
  return './' + (page === 'fleet' ? '' : page) + query(all)
}

/** Changes several parameters in one step; null takes one away. */
export function setParams(changes: Record<string, string | number | null | undefined>,
  o: { replace?: boolean; mark?: string } = {}): void {
  go(withParams(changes), o)
}

/** One parameter of the address. Setting it to null, or to what it is without being there, takes it away. */
export function useParam(name: string, none = ''): [string, (v: string | null, o?: { replace?: boolean }) => void] {
  const v = here.value.params.get(name) ?? none
  const set = useCallback((x: string | null, o?: { replace?: boolean }) =>
    setParams({ [name]: x === none ? null : x }, o), [name, none])
  return [v, set]
}

/** Begins to follow the back button and clicks on links; called once. */
export function followLinks(): void {
  addEventListener('popstate', (e) => {
    forget() // it was of the step that was left
    here.value = parse(location.pathname, location.search)
    restore((e.state as Step | null)?.y ?? 0)
  })
  // The browser would scroll before there is anything to scroll to.
  history.scrollRestoration = 'manual'
  restore(stepNow().y ?? 0)
  let idle: ReturnType<typeof setTimeout> | undefined
  addEventListener('scroll', () => {
    clearTimeout(idle)
    idle = setTimeout(keepPlace, pace)
  }, { passive: true })
  addEventListener('pagehide', () => {
    keepPlace()
    flush()
  })
  document.addEventListener('click', (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return
    const a = e.target instanceof Element ? e.target.closest('a') : null
    if (!(a instanceof HTMLAnchorElement) || a.href === '' || a.target !== '' || a.hasAttribute('download')) return
    const to = new URL(a.href)
    const dir = location.pathname.slice(0, location.pathname.lastIndexOf('/') + 1)
    const page = to.pathname.startsWith(dir) ? to.pathname.slice(dir.length) : '/'
    if (to.origin !== location.origin || (page !== '' && !(pages as readonly string[]).includes(page))) return
    if (to.hash !== '' && addressNow().startsWith(to.origin + to.pathname + to.search + '#')) return
    e.preventDefault()
    go(to.href)
  })
}

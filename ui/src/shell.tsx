// The frame round every page: the rail, the keys of everywhere, the dialogs that may appear anywhere.
import type { ComponentType } from 'preact'
import { useErrorBoundary, useEffect, useState } from 'preact/hooks'
import { asError } from './core/api'
import { useKeys } from './core/keys'
import { loginWanted } from './core/session'
import { zone } from './core/time'
import { TaskTray } from './core/tasks'
import { go, href, kept, pages, route, type PageName } from './core/url'
import { Help, helpOpen } from './kit/help'
import { Icon, type IconName } from './kit/icons'
import { LoginDialog } from './relogin'
import { Page } from './kit/page'
import { Button } from './kit/button'
import { Empty, Loading, Problem } from './kit/state'
import { Toasts } from './kit/toast'
import './shell.css'

type Module = { default: ComponentType }

const load: Record<PageName, () => Promise<Module>> = {
  fleet: () => import('./pages/fleet'),
  overview: () => import('./pages/overview'),
  activity: () => import('./pages/activity'),
  queries: () => import('./pages/queries'),
  explorer: () => import('./pages/explorer'),
  findings: () => import('./pages/findings'),
  changes: () => import('./pages/changes'),
  experiments: () => import('./pages/experiments'),
  overhead: () => import('./pages/overhead'),
  settings: () => import('./pages/settings'),
  login: () => import('./pages/login'),
  welcome: () => import('./pages/welcome'),
}

interface Place {
  page: PageName
  name: string
  icon: IconName
  key: string
  keep: string[] // what its link takes along
}

const places: Place[] = [
  { page: 'fleet', name: 'Fleet', icon: 'fleet', key: 'f', keep: [] },
  { page: 'overview', name: 'Overview', icon: 'server', key: 's', keep: kept },
  { page: 'activity', name: 'Activity', icon: 'activity', key: 'n', keep: kept },
  { page: 'queries', name: 'Queries', icon: 'queries', key: 'q', keep: kept },
  { page: 'explorer', name: 'Explorer', icon: 'explorer', key: 'e', keep: kept },
  { page: 'findings', name: 'Findings', icon: 'findings', key: 'i', keep: ['target'] },
  { page: 'changes', name: 'Changes', icon: 'changes', key: 'c', keep: ['target'] },
  { page: 'experiments', name: 'Experiments', icon: 'experiments', key: 'l', keep: ['target'] },
  { page: 'overhead', name: 'Overhead', icon: 'overhead', key: 'o', keep: ['target'] },
  { page: 'settings', name: 'Settings', icon: 'settings', key: 't', keep: ['target'] },
]

const known = (page: string): page is PageName => (pages as readonly string[]).includes(page)

export function Shell() {
  const goes: Record<string, { help: string; run: () => void }> = {}
  for (const x of places) goes['g ' + x.key] = { help: x.name, run: () => go(href(x.page, {}, x.keep)) }
  useKeys({
    ...goes,
    '?': { help: 'this list', run: () => (helpOpen.value = true) },
    '/': { help: 'search', run: () => document.querySelector<HTMLElement>('[data-search]')?.focus() },
  })
  const page = route.value.page
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(e) => {
        e.preventDefault()
        document.getElementById('main')?.focus()
      }}>
        Skip to content
      </a>
      {page !== 'login' && <Rail at={page} />}
      <div class={`content of-${known(page) ? page : 'none'}`}>
        {known(page) ? <Lazy key={page} page={page} /> : <NotFound />}
        {page !== 'login' && <Zone class="zone-low" />}
      </div>
      <Help />
      {loginWanted.value && page !== 'login' && <LoginDialog />}
      {page !== 'login' && <TaskTray />}
      <Toasts />
    </div>
  )
}

function Rail({ at }: { at: string }) {
  return (
    <nav class="rail" aria-label="Pages">
      <a class="brand" href={href('fleet', {}, [])} aria-label="Dyno, fleet">
        <svg width="20" height="20" viewBox="0 0 16 16" aria-hidden="true">
          <rect class="brand-ground" width="16" height="16" rx="3.5" />
          <path class="brand-needle" d="M2.8 11.2a5.4 5.4 0 1 1 10.4 0M8 10.2l2.6-3.6" />
        </svg>
        <span class="rail-word">Dyno</span>
      </a>
      <ul>
        {places.map((x) => (
          <li key={x.page} class={x.page === 'settings' || x.page === 'overhead' ? 'rail-low' : ''}>
            <a class="rail-item" href={href(x.page, {}, x.keep)} aria-current={x.page === at ? 'page' : undefined}
              title={`${x.name} (g ${x.key})`}>
              <Icon name={x.icon} />
              <span class="rail-word">{x.name}</span>
              <span class="rail-short" aria-hidden="true">{x.name}</span>
            </a>
          </li>
        ))}
      </ul>
      <Zone class="rail-zone rail-word" />
    </nav>
  )
}

function Zone(p: { class: string }) {
  return <p class={`${p.class} faint`}>Times are in {zone(Date.now() / 1000)}</p>
}

/** A page, fetched when it is first looked at. What goes wrong in it is shown in its place, never as a blank page. */
function Lazy({ page }: { page: PageName }) {
  const [found, setFound] = useState<{ page: ComponentType } | { failed: unknown } | undefined>(() => {
    const c = loaded.get(page)
    return c && { page: c }
  })
  const [error, reset] = useErrorBoundary()
  useEffect(() => {
    if (found) return
    let gone = false
    load[page]().then(
      (m) => {
        loaded.set(page, m.default)
        if (!gone) setFound({ page: m.default })
      },
      (failed: unknown) => {
        if (!gone) setFound({ failed })
      },
    )
    return () => { gone = true }
  }, [page])
  const name = places.find((x) => x.page === page)?.name ?? (page === 'login' ? 'Log in' : 'Welcome')
  if (error !== undefined && error !== null) {
    console.error(error)
    return <Page title={name}><Problem what="This page failed" error={asError(error)} retry={reset} /></Page>
  }
  if (!found)
    return <Page title={name}><Loading lines={6} /></Page>
  if ('failed' in found)
    return (
      <Page title={name}>
        <Empty icon="reload" title="This page could not be loaded"
          hint="Dyno does not answer, or was upgraded since this page was opened."
          action={<Button kind="main" onClick={() => location.reload()}>Reload</Button>} />
      </Page>
    )
  const Found = found.page
  return <Found />
}

const loaded = new Map<PageName, ComponentType>()

/** Begins to fetch a page before it is shown. */
export async function fetchPage(page: string): Promise<void> {
  if (!known(page)) return
  try {
    loaded.set(page, (await load[page]()).default)
  } catch {
    // opening it shows what is wrong
  }
}

/** Fetches the other pages while nothing else is to do: then going to one takes no time, also when Dyno is away. */
export async function fetchPages(): Promise<void> {
  for (const p of pages) {
    if (loaded.has(p)) continue
    await new Promise((done) => setTimeout(done, 200))
    await fetchPage(p)
    if (!loaded.has(p)) return // it is fetched when it is asked for
  }
}

function NotFound() {
  return (
    <Page title="Not found">
      <Empty icon="unknown" title="Page not found" hint="The link may be wrong, or from an older version of Dyno."
        action={<a class="button main" href={href('fleet', {}, [])}>Go to Fleet</a>} />
    </Page>
  )
}

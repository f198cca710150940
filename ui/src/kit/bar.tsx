import type { ComponentChildren } from 'preact'
import { second } from '../core/clock'
import { newest } from '../core/newest'
import { connected, useVitals } from '../core/stream'
import { inventory } from '../core/targets'
import { session, setSession } from '../core/session'
import { post } from '../core/api'
import { chosenTheme, chooseTheme, type Choice } from '../core/theme'
import { go, href, route } from '../core/url'
import { Button } from './button'
import type { IconName } from './icons'
import { Menu } from './menu'
import { toast } from './toast'
import { helpOpen } from './help'

/** The bar above a page: its title and pickers; whether it is live, the theme, who is looking. */
export function Bar(p: { title: ComponentChildren; pickers: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <header class="bar">
      {p.title}
      <div class="bar-pickers">{p.pickers}</div>
      <div class="bar-side">
        {p.actions}
        <Live />
        <ThemeButton />
        <Button kind="quiet" icon="keyboard" label="Keyboard (?)" class="wide-only"
          onClick={() => (helpOpen.value = true)} />
        <Who />
      </div>
    </header>
  )
}

function Live() {
  const { page, params } = route.value
  const named = params.get('target')
  const down = page !== 'fleet' && named !== null &&
    newest(inventory.value.list?.find((t) => t.name === named),
    useVitals(named === null ? [] : [named]).value.get(named ?? ''), second.value).up === false
  const past = page === 'activity' ? params.has('at') : params.has('to')
  const is = connected.value !== 'live' ? connected.value : down ? 'down' : past ? 'past' : 'live'
  const word =
    { connecting: 'connecting', live: 'live', lost: 'connection lost', down: 'server down', past: 'past' }[is]
  const titles = { connecting: 'new data every second', live: 'new data every second',
    lost: 'Dyno does not answer; retrying automatically', down: 'the server does not answer',
    past: 'showing a past time range' }
  return (
    <span class={`live live-${is}`} role="status" title={titles[is]}>
      <span class="live-dot" />
      <span class="live-word">{word}</span>
    </span>
  )
}

const themes: Record<Choice, { icon: IconName; next: Choice; name: string }> = {
  system: { icon: 'system', next: 'light', name: "the system's" },
  light: { icon: 'sun', next: 'dark', name: 'light' },
  dark: { icon: 'moon', next: 'system', name: 'dark' },
}

function ThemeButton() {
  const t = themes[chosenTheme.value]
  return <Button kind="quiet" icon={t.icon} label={`Theme: ${t.name}`} onClick={() => chooseTheme(t.next)} />
}

function Who() {
  const s = session.value
  if (s === null) return <a class="button small" href={href('login', {}, [])}>Log in</a>
  const local = s.name === 'local'
  return (
    <Menu class="who" label={`User: ${local ? (s.read_only ? 'read-only' : 'local') : s.name}`}
      icon={s.read_only ? 'lock' : 'user'} text={local ? (s.read_only ? 'read-only' : 'local') : s.name} align="right">
      {(close) => (
        <div class="stack who-sheet">
          <p><b>{local ? 'This machine' : s.name}</b> · {s.role}</p>
          <p class="dim">
            {s.read_only ? 'This Dyno runs with --read-only: nothing can be changed from here.'
              : s.role === 'operator' ? 'Can view, apply, undo and run loads.' : 'Read-only.'}
          </p>
          {local && <p class="faint">No users configured: anyone on this machine has access.</p>}
          {s.version && <p class="faint">Dyno {s.version}</p>}
          {!local && (
            <Button small onClick={() => {
                void post('logout', {}).then(
                  () => {
                    setSession(null)
                    close()
                    go(href('login', {}, []))
                  },
                  (e: unknown) => toast(e instanceof Error ? e.message : String(e), 'bad'))
              }}>
              Log out
            </Button>
          )}
        </div>
      )}
    </Menu>
  )
}


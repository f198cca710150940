import './css/tokens.css'
import './css/base.css'
import { render } from 'preact'
import { followClock } from './core/clock'
import { followHealth } from './core/health'
import { followKeys } from './core/keys'
import { loggedIn, session } from './core/session'
import { follow } from './core/signal'
import { followStream } from './core/stream'
import { followTargets } from './core/targets'
import { followTheme } from './core/theme'
import { followLinks, go, href, route } from './core/url'
import { whoAmI } from './relogin'
import { fetchPage, fetchPages, Shell } from './shell'

followTheme()
followClock()
followLinks()
followKeys()

void fetchPage(route.value.page)

const app = document.getElementById('app')
if (app) render(<Shell />, app)

// Nothing is asked for before it is known who asks: where a login is needed, that page comes first and comes back to
// this one.
async function begin(): Promise<void> {
  try {
    if ((await whoAmI()) === null && route.value.page !== 'login')
      go(href('login', { next: location.pathname.slice(location.pathname.lastIndexOf('/') + 1) + location.search }, []),
        { replace: true })
  } catch {
    setTimeout(() => void begin(), 2000) // Dyno does not answer yet
  }
}

let following = false
follow(session, (who) => {
  if (who === null) return
  loggedIn() // whichever way the session came, what waited for one continues
  if (following) return
  following = true
  followTargets()
  followStream()
  followHealth()
  setTimeout(() => void fetchPages(), 3000)
})

void begin()

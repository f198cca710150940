// The login over a page, when a session ended in the middle of work: what was being done continues afterwards.
import { useState } from 'preact/hooks'
import { asError, get, post, ApiError } from './core/api'
import { loginRefused, session, setSession } from './core/session'
import { go, href } from './core/url'
import { Button } from './kit/button'
import { Dialog } from './kit/dialog'
import { useRun } from './kit/run'
import { Problem } from './kit/state'
import type { Who as Session } from './core/openapi.gen'

/** Asks who is looking. A Dyno without logins answers "local". */
export async function whoAmI(): Promise<Session | null> {
  try {
    const s = await get('session')
    setSession(s.login_needed && s.name === '' ? null : s)
  } catch (e) {
    const status = asError(e).status
    // An older Dyno, or one without logins: anyone on this machine is let in.
    if (status === 404)
      setSession({ name: 'local', role: 'operator', via: '', csrf: '', read_only: false, login_needed: false,
      first_run: false, link: false, version: '' })
    else if (status === 401) setSession(null)
    else throw e
  }
  return session.value
}

/** Fails when the login did not last. */
export async function lasting(): Promise<void> {
  if ((await whoAmI()) === null)
    throw new ApiError(0, 'page', 'the session was not kept', 'Allow cookies for this address in your browser.')
}

export function LoginDialog() {
  const [name, setName] = useState(session.value?.name ?? '')
  const [password, setPassword] = useState('')
  const { busy, error, run } = useRun()
  const logIn = async () => {
    const done = await run(async () => {
      await post('login', { name, password })
      await lasting()
    })
    if (!done) setPassword('')
  }
  return (
    <Dialog title="Your session ended" lock onClose={() => {
        loginRefused(new ApiError(401, 'unauthorized', 'login required', 'Log in and try again.'))
        go(href('login', { next: location.pathname.slice(location.pathname.lastIndexOf('/') + 1) + location.search },
          []))
      }}>
      <form class="stack" onSubmit={(e) => {
          e.preventDefault()
          if (!busy) void logIn()
        }}>
        <p class="dim">Log in again to continue where you were.</p>
        <div class="field">
          <label for="login-name">Name</label>
          <input id="login-name" class="input" autocomplete="username" autofocus={name === ''} value={name}
            onInput={(e) => setName(e.currentTarget.value)} />
        </div>
        <div class="field">
          <label for="login-password">Password</label>
          <input id="login-password" class="input" type="password" autocomplete="current-password"
            autofocus={name !== ''} value={password} onInput={(e) => setPassword(e.currentTarget.value)} />
        </div>
        {error && <Problem error={error} />}
        <div class="row"><Button kind="main" submit disabled={busy}>Log in</Button></div>
      </form>
    </Dialog>
  )
}

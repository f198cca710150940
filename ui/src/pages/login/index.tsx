// The login before a page. The first time it takes the first-run token: from the link that dyno serve printed, or to
// make the first operator.
import { useEffect, useState } from 'preact/hooks'
import { go, href, post, session, useGet, useParam } from '../../core'
import { lasting } from '../../relogin'
import { Button, Empty, Problem, Show, useRun } from '../../kit'
import { nextPage, passwordProblem } from './rules'
import './login.css'

export function LoginPage() {
  const door = useGet('session')
  useEffect(() => { document.title = 'Log in · Dyno' }, [])
  return (
    <main id="main" class="login" tabIndex={-1}>
      <div class="login-card">
        <header class="login-head">
          <svg width="28" height="28" viewBox="0 0 16 16" aria-hidden="true">
            <rect class="brand-ground" width="16" height="16" rx="3.5" />
            <path class="brand-needle" d="M2.8 11.2a5.4 5.4 0 1 1 10.4 0M8 10.2l2.6-3.6" />
          </svg>
          <h1>Dyno</h1>
        </header>
        <Show of={door} lines={4}>
          {(d) => (!d.login_needed ? <Open /> : d.link ? <Link /> : d.first_run ? <First /> : <LogIn />)}
        </Show>
      </div>
    </main>
  )
}

/** Goes where the way led before the login came between. */
async function enter(next: string): Promise<void> {
  await lasting()
  go('./' + nextPage(next), { replace: true })
}

function Open() {
  useEffect(() => {
    if (location.hash) go(href('fleet', {}, []), { replace: true }) // the link is not needed, and its token stays good
  }, [])
  return (
    <Empty icon="user" title="You are logged in" hint="There are no users yet. Add the first one under Settings, Users."
      action={<a class="button main" href={href('fleet', {}, [])}>Continue</a>} />
  )
}

function LogIn() {
  const [next] = useParam('next')
  const [name, setName] = useState(session.value?.name ?? '')
  const [password, setPassword] = useState('')
  const { busy, error, run } = useRun()
  const logIn = async () => {
    const done = await run(async () => {
      await post('login', { name, password })
      await enter(next)
    })
    if (done) return
    setPassword('')
    document.getElementById('password')?.focus()
  }
  return (
    <form class="stack loose" onSubmit={(e) => {
        e.preventDefault()
        if (!busy) void logIn()
      }}>
      <Field id="name" label="Name" value={name} set={setName} auto="username" focus={name === ''} />
      <Field id="password" label="Password" value={password} set={setPassword} auto="current-password" secret
        focus={name !== ''} />
      {error && <Problem error={error} />}
      <Button kind="main" submit why={busy ? 'checking the password' : ''}>Log in</Button>
      <p class="faint">No login? Someone with access to Dyno's machine can add one: <code>dyno user add NAME</code></p>
    </form>
  )
}

/**
 * Without users the token of the link alone lets in. Opened as a link it stands behind the #, which is sent to no
 * server.
 */
function Link() {
  const [next] = useParam('next')
  const [text, setText] = useState(location.hash.slice(1))
  const { busy, error, run } = useRun()
  const token = text.slice(text.lastIndexOf('#') + 1).trim()
  const begin = async () => {
    await post('login/token', { token })
    await enter(next)
  }
  useEffect(() => {
    if (!text) return
    history.replaceState(history.state, '', location.pathname + location.search) // it works once, and need not be seen
    void run(begin)
  }, [])
  return (
    <form class="stack loose" onSubmit={(e) => {
        e.preventDefault()
        void run(begin)
      }}>
      <p class="dim">
        There are no users yet. Open the link that <code>dyno serve</code> printed, or the one in <code>first-run-link
        </code> in Dyno's home. Or add a user: <code>dyno user add NAME</code>
      </p>
      <Field id="token" label="Link" value={text} set={setText} auto="off" focus mono />
      {error && <Problem error={error} />}
      <Button kind="main" submit why={busy ? 'one moment' : token ? '' : 'the link is missing'}>Log in</Button>
    </form>
  )
}

function First() {
  const [next] = useParam('next')
  const [token, setToken] = useState('')
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const { busy, error, run } = useRun()
  const why = token.trim() === '' ? 'the token is missing'
    : name === '' ? 'the name is missing' : passwordProblem(password, again)
  const begin = async () => {
    await post('login/token', { token: token.trim(), name, password })
    await enter(next)
  }
  return (
    <form class="stack loose" onSubmit={(e) => {
        e.preventDefault()
        if (why === '') void run(begin)
      }}>
      <p class="dim">
        There are no users yet. Enter the token from <code>first-run-token
        </code> in Dyno's home to become the first operator.
      </p>
      <Field id="token" label="First-run token" value={token} set={setToken} auto="off" focus mono />
      <Field id="name" label="Your name" value={name} set={setName} auto="username"
        note="lower-case letters and digits" />
      <Field id="password" label="Password" value={password} set={setPassword} auto="new-password" secret
        note="at least 12 characters; a few words are fine" />
      <Field id="again" label="Repeat password" value={again} set={setAgain} auto="new-password" secret />
      {error && <Problem error={error} />}
      <Button kind="main" submit why={busy ? 'one moment' : why}>Begin</Button>
    </form>
  )
}

/** One field of a login. */
export function Field(
  p: { id: string; label: string; value: string; set: (v: string) =>
  void; auto: string; secret?: boolean; focus?: boolean; mono?: boolean; note?: string }) {
  return (
    <div class="field">
      <label for={p.id}>{p.label}</label>
      <input id={p.id} class={`input${p.mono ? ' mono' : ''}`} type={p.secret ? 'password' : 'text'}
        autocomplete={p.auto} autocapitalize="none" spellcheck={false} autofocus={p.focus} value={p.value}
        aria-describedby={p.note ? p.id + '-note' : undefined} onInput={(e) => p.set(e.currentTarget.value)} />
      {p.note && <span class="note" id={p.id + '-note'}>{p.note}</span>}
    </div>
  )
}

export default LoginPage

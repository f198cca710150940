// Adds a server by hand, with a look at it first. There is no field for a password: Dyno keeps none.
import { useRef, useState } from 'preact/hooks'
import { asError, post, type ApiError } from '../../core/api'
import { whyNot } from '../../core/session'
import { reloadTargets } from '../../core/targets'
import { Badge, Button, Copy, Loading, Notice, Problem, Sql, safe } from '../../ui'
import { hasPassword, nameFor, toURL } from './address'
import { Mend } from './sources'
import { flavorName, script, type Checked, type Entry } from './types'

type Way = 'usual' | 'file' | 'env'

/** The form. done is called with the name of the target that was added. */
export function AddServer({ done, taken }: { done: (name: string) => void; taken: readonly string[] }) {
  const [address, setAddress] = useState('')
  const [user, setUser] = useState('')
  const [name, setName] = useState('')
  const [way, setWay] = useState<Way>('usual')
  const [file, setFile] = useState('')
  const [env, setEnv] = useState('')
  const [checked, setChecked] = useState<Checked>()
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState<'' | 'check' | 'add'>('')
  const turn = useRef(0)
  const fresh = useRef(false) // something was typed since the last look

  const secret = hasPassword(address)
  const url = toURL(address, user)
  const called = name.trim() || nameFor(address)
  const entry = (): Entry => ({
    name: called,
    url,
    ...(way === 'file' && file.trim() ? { defaults_file: file.trim() } : {}),
    ...(way === 'env' && env.trim() ? { password_env: env.trim() } : {}),
  })
  const ready = url !== '' && !secret && !(way === 'file' && file.trim() === '') && !(way === 'env' && env.trim() === '')

  // The look is taken when a field is left or on Enter, not at every letter: a half-typed user is a failed login on the server.
  const check = async () => {
    if (!ready || whyNot() !== '') return
    const mine = ++turn.current
    fresh.current = false
    setBusy('check')
    setError(undefined)
    try {
      const c = await post<Checked>('target/check', entry())
      if (turn.current === mine) setChecked(c)
    } catch (e) {
      if (turn.current === mine) {
        setChecked(undefined)
        setError(asError(e))
      }
    }
    if (turn.current === mine) setBusy('')
  }
  const add = async () => {
    setBusy('add')
    setError(undefined)
    try {
      const t = await post<Entry>('target/add', entry())
      reloadTargets()
      done(t.name)
    } catch (e) {
      setError(asError(e))
      setBusy('')
    }
  }
  const field = (set: (v: string) => void) => ({
    onInput: (e: Event & { currentTarget: HTMLInputElement }) => {
      turn.current++
      fresh.current = true
      setBusy('')
      setChecked(undefined)
      set(e.currentTarget.value)
    },
    onBlur: () => {
      if (fresh.current) void check()
    },
    spellcheck: false,
    autocomplete: 'off',
    class: 'input',
  })
  const choose = (w: Way) => {
    turn.current++
    setBusy('')
    setChecked(undefined)
    setWay(w)
  }
  const clash = taken.includes(called)
  const why = whyNot() || (url === '' ? 'the address is missing' : secret ? 'a password stands in the address' : clash ? 'the name is taken' : '')

  return (
    <form
      class="stack add-server"
      onSubmit={(e) => {
        e.preventDefault()
        if (why === '' && checked?.reached) void add()
        else void check()
      }}
    >
      <div class="form-row">
        <label class="field wide-field">
          <span class="label">Address</span>
          <input {...field(setAddress)} name="address" placeholder="db1:3306, /run/mysqld/mysqld.sock, mysql://…" aria-invalid={secret} value={address} />
        </label>
        <label class="field">
          <span class="label">User</span>
          <input {...field(setUser)} name="user" placeholder="dyno" value={user} disabled={address.includes('://')} />
        </label>
        <label class="field">
          <span class="label">Name</span>
          <input {...field(setName)} onBlur={() => undefined} name="name" placeholder={nameFor(address) || 'shop'} aria-invalid={clash} value={name} />
        </label>
      </div>
      <fieldset class="ways">
        <legend class="label">The password comes from</legend>
        <label>
          <input type="radio" name="way" checked={way === 'usual'} onChange={() => choose('usual')} /> ~/.my.cnf of Dyno's user, if it names this server, or none
        </label>
        <label>
          <input type="radio" name="way" checked={way === 'file'} onChange={() => choose('file')} /> another file like my.cnf
        </label>
        <label>
          <input type="radio" name="way" checked={way === 'env'} onChange={() => choose('env')} /> an environment variable of dyno serve
        </label>
        {way === 'file' && (
          <label class="field">
            <span class="label">File in credentials in Dyno's home</span>
            <input {...field(setFile)} name="file" placeholder="shop.cnf" value={file} />
          </label>
        )}
        {way === 'env' && (
          <label class="field">
            <span class="label">Name of the variable</span>
            <input {...field(setEnv)} name="env" placeholder="DYNO_TARGET_SHOP" value={env} />
          </label>
        )}
      </fieldset>
      {secret && (
        <Notice tone="warn">Take the password out of the address: Dyno keeps none and shows none. Put it into a file like my.cnf that only Dyno's user can read, and name that file.</Notice>
      )}
      {clash && <Notice tone="warn">The inventory has a target called {called} already.</Notice>}
      <div class="row wrap">
        <Button submit={!checked?.reached} why={whyNot() || (ready ? '' : 'the address is missing')} disabled={busy !== ''} icon="search" onClick={() => void check()}>
          {busy === 'check' ? 'Looking…' : 'Look at it'}
        </Button>
        <Button kind="main" submit={checked?.reached === true} why={why} disabled={busy === 'add'} icon="plus" onClick={() => void add()}>
          {checked && !checked.reached ? 'Watch it all the same' : 'Watch it'}
        </Button>
      </div>
      <div aria-live="polite">
        {error ? <Problem error={error} /> : busy === 'check' ? <Loading lines={2} /> : checked && <CheckResult c={checked} />}
      </div>
    </form>
  )
}

/** What a look at a server gave. */
export function CheckResult({ c }: { c: Checked }) {
  if (!c.reached)
    return (
      <div class="stack">
        <div class="problem" role="status">
          <Badge tone="bad">no login</Badge>
          <div class="grow">
            <p>{safe(c.reason ?? '')}</p>
            {c.fix && <p class="dim">{safe(c.fix)}</p>}
          </div>
        </div>
        {c.create_account && <Statements title={`An account for Dyno${c.flavor ? ` on ${flavorName(c.flavor)} ${c.version ?? ''}` : ''}: run this there`} all={c.create_account} />}
      </div>
    )
  const lacking = c.sources.filter((s) => s.state !== 'ok')
  return (
    <div class="stack">
      <p class="row wrap">
        <Badge tone="good">reached</Badge>
        <span>
          {flavorName(c.flavor)} {safe(c.version ?? '')}, as <code>{safe(c.user ?? '')}</code>
          {c.tls ? `, encrypted with ${c.tls}` : ', not encrypted'}; {c.sources.length - lacking.length} of {c.sources.length} sources give figures.
        </span>
      </p>
      {c.doubt && <p class="dim">{safe(c.doubt)}</p>}
      {lacking.length > 0 && (
        <ul class="lacks">
          {lacking.map((s) => (
            <li key={s.name}>
              <span class="mono">{s.name}</span> <span class="dim">{safe(s.reason ?? '')}</span> {s.fix && <Mend fix={s.fix} />}
            </li>
          ))}
        </ul>
      )}
      {c.grants && c.grants.length > 0 && <Statements title="What watching needs, in one piece" all={c.grants} />}
    </div>
  )
}

export function Statements({ title, all }: { title: string; all: string[] }) {
  return (
    <div class="stack tight">
      <p class="dim">{title}</p>
      <div class="statement">
        <Sql text={script(all)} />
        <Copy text={script(all)} />
      </div>
    </div>
  )
}

// Adds a server by hand, with a test of the connection first, or changes one of the inventory.
import { useRef, useState } from 'preact/hooks'
import { asError, post, reloadTargets, whyNot, type ApiError } from '../../core'
import { Badge, Button, Copy, Loading, Notice, Problem, Sql, safe } from '../../kit'
import { hasPassword, isPostgresURL, nameFor, toURL, withExporter, withoutExporter } from './address'
import { Fix } from './sources'
import type { Checked, Target as Entry } from '../../core/openapi.gen'
import { flavorName, script } from './words'

type Way = 'usual' | 'file' | 'env' | 'kept' | 'none'

/** Where an entry has its password from. home is Dyno's. */
export function wayOf(e: Entry, home: string): Way {
  if (e.password_env) return 'env'
  if (e.defaults_file === '/dev/null') return 'none'
  if (e.defaults_file?.startsWith(home + '/credentials/kept/')) return 'kept'
  return e.defaults_file ? 'file' : 'usual'
}

/**
 * The form: of a new server, or with of of that entry, whose name stays. done is called with the name of the target
 * that was written. A password is sent once, with the address that it is for, and never comes back.
 */
export function AddServer(
  { done, taken, of,
  home = '' }: { done: (name: string) => void; taken: readonly string[]; of?: Entry | undefined; home?: string }) {
  const was: Way = of ? wayOf(of, home) : 'usual'
  const [ofURL, ofExporter] = withoutExporter(of?.url ?? '')
  const [address, setAddress] = useState(ofURL)
  const [exporter, setExporter] = useState(ofExporter)
  const [user, setUser] = useState('')
  const [name, setName] = useState(of?.name ?? '')
  const [way, setWay] = useState<Way>(was)
  const [file, setFile] = useState(was === 'file' ? (of?.defaults_file ?? '') : '')
  const [env, setEnv] = useState(of?.password_env ?? '')
  const [password, setPassword] = useState('')
  const [redact, setRedact] = useState(of?.redact ?? false)
  const [checked, setChecked] = useState<Checked>()
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState<'' | 'check' | 'add'>('')
  const turn = useRef(0)
  const fresh = useRef(false) // something was typed since the last look

  const secret = hasPassword(address) || hasPassword(exporter)
  const pg = isPostgresURL(address)
  const url = withExporter(toURL(address, user), exporter)
  const called = name.trim() || nameFor(address)
  const entry = (): Entry => ({
    name: called, url, ...(way === 'file' && file.trim() ? { defaults_file: file.trim() } : {}),
    ...(way === 'env' && env.trim() ? { password_env: env.trim() } : {}),
    ...(way === 'none' ? { defaults_file: '/dev/null' } : {}),
    redact,
  })
  const ready = url !== '' && !secret && !(way === 'file' && file.trim() === '') &&
    !(way === 'env' && env.trim() === '')
  const tests = way !== 'kept' // a password is sent once, to be kept

  // The look is taken when a field is left or on Enter, not at every letter: a half-typed user is a failed login on the
  // server.
  const check = async () => {
    if (!ready || !tests || whyNot() !== '') return
    const mine = ++turn.current
    fresh.current = false
    setBusy('check')
    setError(undefined)
    try {
      const c = await post('target/check', entry())
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
      const t = tests ? await post('target/add', { ...entry(), replace: of !== undefined })
        : await post('target/password', { name: called, url, password, redact })
      setPassword('')
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
      if (fresh.current && of === undefined) void check()
    },
    spellcheck: false, autocomplete: 'off', class: 'input',
  })
  const choose = (w: Way) => {
    turn.current++
    setBusy('')
    setChecked(undefined)
    setWay(w)
  }
  const clash = of === undefined && taken.includes(called)
  const missing = !tests && password === ''
    ? (was === 'kept' && url !== of?.url ? 'enter the password again: the stored one stays with the old address'
    : 'the password is missing') : ''
  const why = whyNot() ||
    (url === '' ? 'the address is missing'
    : secret ? 'the address contains a password' : clash ? 'the name is taken' : missing)

  return (
    <form class="stack add-server" onSubmit={(e) => {
        e.preventDefault()
        if (why === '' && (!tests || of !== undefined || checked?.reached)) void add()
        else void check()
      }}>
      <div class="form-row">
        <label class="field wide-field">
          <span class="label">Address</span>
          <input {...field(setAddress)} name="address"
            placeholder="db1:3306, /run/mysqld/mysqld.sock, mysql://…, postgres://…"
            aria-invalid={hasPassword(address)} value={address} />
        </label>
        <label class="field">
          <span class="label">User</span>
          <input {...field(setUser)} name="user" placeholder="dyno" value={user} disabled={address.includes('://')} />
        </label>
        <label class="field">
          <span class="label">Name</span>
          <input {...field(setName)} onBlur={() => undefined} name="name" placeholder={nameFor(address) || 'shop'}
            aria-invalid={clash} value={name} disabled={of !== undefined} />
        </label>
      </div>
      <div class="form-row">
        <label class="field wide-field"
          title="CPU, memory, disks and network of its machine, where Dyno does not run on it or reach it by ssh">
          <span class="label">node_exporter URL (optional)</span>
          <input {...field(setExporter)} name="exporter" placeholder="http://db1:9100/metrics"
            aria-invalid={hasPassword(exporter)} value={exporter} />
        </label>
      </div>
      <fieldset class="ways">
        <legend class="label">Password source</legend>
        <label>
          <input type="radio" name="way" checked={way === 'kept'}
            onChange={() => choose('kept')} /> this form: Dyno stores it in a file that only Dyno's user can read
        </label>
        {(was === 'none' || way === 'none') && (
          <label>
            <input type="radio" name="way" checked={way === 'none'}
              onChange={() => choose('none')} /> none: the account has no password
          </label>
        )}
        <label>
          <input type="radio" name="way" checked={way === 'usual'}
            onChange={() => choose('usual')} /> {pg ? '~/.pgpass' : '~/.my.cnf'} of Dyno&apos;s user,
          if it names this server, or none
        </label>
        <label>
          <input type="radio" name="way" checked={way === 'file'}
            onChange={() => choose('file')} /> another file like {pg ? '.pgpass' : 'my.cnf'}
        </label>
        <label>
          <input type="radio" name="way" checked={way === 'env'}
            onChange={() => choose('env')} /> an environment variable of dyno serve
        </label>
        {way === 'kept' && (
          <label class="field">
            <span class="label">{was === 'kept' ? 'New password' : 'Password'}</span>
            <input class="input" type="password" name="password" autocomplete="new-password" value={password}
              onInput={(e) => setPassword(e.currentTarget.value)} />
          </label>
        )}
        {way === 'file' && (
          <label class="field">
            <span class="label">File (in credentials in Dyno's home)</span>
            <input {...field(setFile)} name="file" placeholder={pg ? 'shop.pgpass' : 'shop.cnf'} value={file} />
          </label>
        )}
        {way === 'env' && (
          <label class="field">
            <span class="label">Variable name</span>
            <input {...field(setEnv)} name="env" placeholder="DYNO_TARGET_SHOP" value={env} />
          </label>
        )}
      </fieldset>
      {of === undefined && (
        <label title="Replaces literals by ? before anything is stored or shown">
          <input type="checkbox" name="redact" checked={redact}
            onChange={(e) => setRedact(e.currentTarget.checked)} /> Redact: store and show no literals of its statements
        </label>
      )}
      {secret && (
        <Notice tone="warn">
          {hasPassword(exporter) ? 'Take the password out of the URL of node_exporter: Dyno sends none there.'
          : `Take the password out of the address: addresses are shown. Enter it below, or name a file like ` +
            `${pg ? '.pgpass' : 'my.cnf'} that holds it.`}</Notice>
      )}
      {clash && <Notice tone="warn">The inventory already has a target named {called}.</Notice>}
      <div class="row wrap">
        {tests && (
          <Button submit={!checked?.reached && of === undefined}
            why={whyNot() || (ready ? '' : 'the address is missing')} disabled={busy !== ''} icon="search"
            onClick={() => void check()}>
            {busy === 'check' ? 'Testing…' : 'Test connection'}
          </Button>
        )}
        <Button kind="main" submit={!tests || of !== undefined || checked?.reached === true} why={why}
          disabled={busy === 'add'} icon={of ? 'check' : 'plus'} onClick={() => void add()}>
          {of ? 'Save' : checked && !checked.reached ? 'Add anyway' : 'Add'}
        </Button>
      </div>
      <div aria-live="polite">
        {error ? <Problem error={error} />
          : busy === 'check' ? <Loading lines={2} /> : checked && <CheckResult c={checked} />}
      </div>
    </form>
  )
}

/** What a check of a server found. */
export function CheckResult({ c }: { c: Checked }) {
  if (!c.reached)
    return (
      <div class="stack">
        <div class="problem" role="status">
          <Badge tone="bad">no login</Badge>
          <div class="grow"><p>{safe(c.reason ?? '')}</p>{c.fix && <p class="dim">{safe(c.fix)}</p>}</div>
        </div>
        {c.create_account &&
          <Statements title={`To create an account for ` +
            `Dyno${c.flavor ? ` on ${flavorName(c.flavor)} ${c.version ?? ''}` : ''}, run:`} all={c.create_account} />}
      </div>
    )
  const lacking = c.sources.filter((s) => s.state !== 'ok')
  return (
    <div class="stack">
      <p class="row wrap">
        <Badge tone="good">connected</Badge>
        <span>
          {flavorName(c.flavor)} {safe(c.version ?? '')}, as <code>{safe(c.user ?? '')}</code>
          {c.tls ? `, encrypted with ${c.tls}` : ', not encrypted'}
            ; {c.sources.length - lacking.length} of {c.sources.length} data sources available.
        </span>
      </p>
      {c.doubt && <p class="dim">{safe(c.doubt)}</p>}
      {lacking.length > 0 && (
        <ul class="lacks">
          {lacking.map((s) => (
            <li key={s.name}>
              <span class="mono">{s.name}</span> <span class="dim">{safe(s.reason ?? '')}
              </span> {s.fix && <Fix fix={s.fix} />}
            </li>
          ))}
        </ul>
      )}
      {c.grants && c.grants.length > 0 && <Statements title="All grants that watching needs" all={c.grants} />}
    </div>
  )
}

export function Statements({ title, all }: { title: string; all: string[] }) {
  return (
    <div class="stack tight">
      <p class="dim">{title}</p>
      <div class="statement"><Sql text={script(all)} /><Copy text={script(all)} /></div>
    </div>
  )
}

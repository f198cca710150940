// Who may use this Dyno: users, their sessions, tokens of programs, and what was done.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ago, asError, get, go, href, moment, post, seconds, session, useGet, whyNot, type Data } from '../../core'
import type { Entry, SessionRow as Login, Token, User } from '../../core/openapi.gen'
import { whoAmI } from '../../relogin'
import { Badge, Button, Confirm, Copy, Dialog, Empty, Notice, Problem, safe, Show, Table, toast, useRun,
  type Column } from '../../kit'
import { Field } from '../login'
import { browserOf, passwordProblem } from '../login/rules'
import './users.css'

type Role = User['role']
const day = (t: string | undefined) => (t ? moment(seconds(t), { date: true, seconds: false }) : 'never')
const when =
  (t: string | undefined) => (t ? <span title={day(t)}>{ago(seconds(t))}</span> : <span class="faint">never</span>)

function RoleBadge({ role }: { role: Role }) {
  return (
    <Badge tone={role === 'operator' ? 'info' : 'unknown'} icon={false}
      title={role === 'operator' ? 'views, applies, undoes, runs loads, manages users' : 'read-only'}>
      {role}
    </Badge>
  )
}

/** The tab "Users" of Settings. */
export function Users() {
  const me = session.value
  if (me === null) return null
  if (!me.login_needed) return <Local />
  return (
    <div class="stack users">
      <Own name={me.name} role={me.role} />
      {me.role === 'operator' && <People me={me.name} />}
      {me.role === 'operator' && <Programs />}
      <Logins all={me.role === 'operator'} />
      {me.role === 'operator' && <Audit />}
    </div>
  )
}

/** Without users: what that means, and the way to the first one. */
function Local() {
  const [adding, setAdding] = useState(false)
  return (
    <div class="stack users">
      <Empty icon="user" title="No users configured" hint={
          <>
            Only root, Dyno's own account and browsers that opened the link of <code>dyno serve
            </code> have access. The first user is an operator; then everyone
            needs a login. To allow access from
            other machines, start Dyno with <code>--listen</code>, <code>--tls-cert</code> and <code>--tls-key</code>.
          </>
        }
        action={<Button kind="main" icon="plus" why={whyNot()} onClick={() => setAdding(true)}>Add first user</Button>}
      />
      {adding && (
        <AddUser first onClose={() => setAdding(false)}
          done={() => { void whoAmI().then(() => go(href('login', { next: 'settings?tab=users' }, []))) }} />
      )}
      <Audit />
    </div>
  )
}

function Own({ name, role }: { name: string; role: Role }) {
  const [open, setOpen] = useState<'' | 'password' | 'everywhere'>('')
  return (
    <section class="row wrap own" aria-label="You">
      <p class="grow">You are <b>{name}</b> <RoleBadge role={role} /></p>
      <Button why={session.value?.read_only ? whyNot() : ''} onClick={() => setOpen('password')}>
        Change password
      </Button>
      <Button onClick={() => setOpen('everywhere')}>Log out everywhere</Button>
      {open === 'password' && <SetPassword own name={name} onClose={() => setOpen('')}
        done={() => toast('Password changed; your other sessions ended', 'good')} />}
      {open === 'everywhere' && (
        <Confirm title="Log out everywhere?" yes="Log out everywhere" onClose={() => setOpen('')} run={async () => {
            await post('logout', { everywhere: true })
            await whoAmI()
            go(href('login', {}, []))
          }}>
          <p>All your sessions end, including this one.</p>
        </Confirm>
      )}
    </section>
  )
}

function People({ me }: { me: string }) {
  const users = useGet('users', {}, { every: 30000 })
  const [adding, setAdding] = useState(false)
  const [open, setOpen] = useState<{ what: 'password' | 'remove'; name: string }>()
  const close = () => setOpen(undefined)
  const setRole = async (u: User, role: Role) => {
    try {
      await post('user/role', { name: u.name, role })
      toast(`${u.name} is now ${role === 'operator' ? 'an operator' : 'a viewer'}`, 'good')
    } catch (e) {
      toast(asError(e).message, 'bad')
    }
    users.reload()
  }
  const columns: Column<User>[] = [
    {
      key: 'name', head: 'Name', value: (u) => u.name,
      cell: (u) => <><b>{u.name}</b>{u.name === me && <span class="faint"> (you)</span>}</>,
    },
    {
      key: 'role', head: 'Role', value: (u) => u.role,
      cell: (u) =>
        whyNot() === '' ? (
          <select class="input small-input" aria-label={`Role of ${u.name}`} value={u.role}
            onChange={(e) => void setRole(u, e.currentTarget.value === 'operator' ? 'operator' : 'viewer')}>
            <option value="viewer">viewer</option>
            <option value="operator">operator</option>
          </select>
        ) : <RoleBadge role={u.role} />,
    },
    { key: 'seen', head: 'Last seen', value: (u) => u.seen, cell: (u) => when(u.seen) },
    { key: 'changed', head: 'Password set', value: (u) => u.password_changed, cell: (u) => day(u.password_changed) },
    {
      key: 'do', head: <span class="hide">Actions</span>, align: 'right',
      cell: (u) => (
        <span class="row acts">
          <Button small why={whyNot()} label={`Set password of ${u.name}`}
            onClick={() => setOpen({ what: 'password', name: u.name })}>
            Set password
          </Button>
          <Button small kind="danger" label={`Remove ${u.name}`}
            why={whyNot() || (u.name === me ? 'you cannot remove yourself' : '')}
            onClick={() => setOpen({ what: 'remove', name: u.name })}>
            Remove
          </Button>
        </span>
      ),
    },
  ]
  return (
    <section class="section stack">
      <header class="row">
        <h2 class="grow">Users</h2>
        <Button kind="main" icon="plus" why={whyNot()} onClick={() => setAdding(true)}>Add user</Button>
      </header>
      <Show of={users}>
        {(v) =>
        <Table columns={columns} rows={v.users} rowKey={(u) => u.name} label="Users" sort="name" sortParam="users" />}
      </Show>
      {adding && <AddUser onClose={() => setAdding(false)} done={users.reload} />}
      {open?.what === 'password' && (
        <SetPassword own={open.name === me} name={open.name} onClose={close}
          done={() => toast(`Password of ${open.name} set; their sessions ended`, 'good')} />
      )}
      {open?.what === 'remove' && (
        <Confirm title={`Remove ${open.name}?`} yes="Remove" danger onClose={close} run={async () => {
            const left = await post('user/remove', { name: open.name })
            users.reload()
            if (left.tokens.length > 0)
              toast(`Tokens created by ${open.name} are still valid: ${left.tokens.join(', ')}`, 'warn')
          }}>
          <p>The sessions end at once. The actions of {open.name} stay in the audit log and the journal.</p>
        </Confirm>
      )}
    </section>
  )
}

function AddUser({ first, onClose, done }: { first?: boolean; onClose: () => void; done: () => void }) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>(first ? 'operator' : 'viewer')
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const why = name === '' ? 'the name is missing' : passwordProblem(password, again)
  return (
    <Form title={first ? 'Add first user' : 'Add user'} yes="Add" why={why} onClose={onClose} run={async () => {
        await post('user/add', { name, role, password })
        done()
      }}>
      <Field id="new-name" label="Name" value={name} set={setName} auto="off" focus
        note="lower-case letters and digits" />
      {!first && <RoleField role={role} set={setRole} />}
      <Field id="new-password" label="Password" value={password} set={setPassword} auto="new-password" secret
        note="at least 12 characters; a few words are fine" />
      <Field id="new-again" label="Repeat password" value={again} set={setAgain} auto="new-password" secret />
    </Form>
  )
}

function RoleField({ role, set }: { role: Role; set: (r: Role) => void }) {
  return (
    <div class="field">
      <label for="new-role">Role</label>
      <select id="new-role" class="input" value={role}
        onChange={(e) => set(e.currentTarget.value === 'operator' ? 'operator' : 'viewer')}>
        <option value="viewer">viewer: read-only</option>
        <option value="operator">operator: also applies, undoes, runs loads, manages users</option>
      </select>
    </div>
  )
}

function SetPassword(
  { own, name, onClose, done }: { own: boolean; name: string; onClose: () => void; done: () => void }) {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const why = current === '' ? 'your current password is missing' : passwordProblem(password, again)
  return (
    <Form title={own ? 'Change your password' : `Set the password of ${name}`} yes={own ? 'Change' : 'Set'} why={why}
      onClose={onClose} run={async () => {
        await post('user/password', { name, current, password })
        done()
      }}>
      <Field id="current" label="Your current password" value={current} set={setCurrent} auto="current-password" secret
        focus />
      <Field id="new-password" label="New password" value={password} set={setPassword} auto="new-password" secret
        note="at least 12 characters; a few words are fine" />
      <Field id="new-again" label="Repeat new password" value={again} set={setAgain} auto="new-password" secret />
      <p class="faint">{own ? 'Your other sessions end.' : `All sessions of ${name} end.`}</p>
    </Form>
  )
}

/**
 * A dialog with a form in it: Enter sends it, what goes wrong is shown in it. It closes when run is through, unless it
 * has something to show.
 */
function Form(
  p: { title: string; yes: string; why: string; onClose: () => void; run: () =>
  Promise<unknown>; stay?: boolean; children: ComponentChildren }) {
  const { busy, error, run: once } = useRun()
  const run = async () => {
    if (p.why === '' && (await once(p.run)) && !p.stay) p.onClose()
  }
  return (
    <Dialog title={p.title} lock onClose={p.onClose}>
      <form class="stack loose" onSubmit={(e) => {
          e.preventDefault()
          void run()
        }}>
        {p.children}
        {error && <Problem error={error} />}
        <div class="row form-foot">
          <Button onClick={p.onClose}>Cancel</Button>
          <Button kind="main" submit why={busy ? 'one moment' : p.why}>{p.yes}</Button>
        </div>
      </form>
    </Dialog>
  )
}

function Programs() {
  const tokens = useGet('tokens', {}, { every: 30000 })
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<Token>()
  const columns: Column<Token>[] = [
    { key: 'name', head: 'Name', value: (t) => t.name, cell: (t) => <b>{safe(t.name)}</b> },
    { key: 'role', head: 'Role', value: (t) => t.role, cell: (t) => <RoleBadge role={t.role} /> },
    { key: 'used', head: 'Last used', value: (t) => t.used, cell: (t) => when(t.used) },
    { key: 'expires', head: 'Valid until', value: (t) => t.expires,
      cell: (t) => (seconds(t.expires) < Date.now() / 1000 ? <Badge tone="warn">expired {day(t.expires)}</Badge>
      : day(t.expires)) },
    { key: 'by', head: 'Created by', value: (t) => t.by, cell: (t) => safe(t.by) },
    {
      key: 'do', head: <span class="hide">Actions</span>, align: 'right',
      cell: (t) => (
        <Button small kind="danger" label={`Remove ${t.name}`} why={whyNot()} onClick={() => setRemoving(t)}>
          Remove
        </Button>
      ),
    },
  ]
  return (
    <section class="section stack">
      <header class="row">
        <h2 class="grow">API tokens</h2>
        <Button icon="plus" why={whyNot()} onClick={() => setAdding(true)}>Create token</Button>
      </header>
      <Show of={tokens}>
        {(v) => (
          <Table columns={columns} rows={v.tokens} rowKey={(t) => t.id} label="API tokens" sort="name"
            sortParam="tokens" empty={<Empty title="No tokens"
              hint="Programs such as Grafana, Prometheus and scripts need one, because they do not log in." />} />
        )}
      </Show>
      {adding && <AddToken onClose={() => setAdding(false)} done={tokens.reload} />}
      {removing && (
        <Confirm title={`Remove the token ${removing.name}?`} yes="Remove" danger onClose={() => setRemoving(undefined)}
          run={async () => {
            await post('token/remove', { id: removing.id })
            tokens.reload()
          }}>
          <p>Programs that use it lose access immediately.</p>
        </Confirm>
      )}
    </section>
  )
}

function AddToken({ onClose, done }: { onClose: () => void; done: () => void }) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const [days, setDays] = useState('365')
  const [made, setMade] = useState<{ name: string; token: string }>()
  const n = Number(days)
  const why = name === '' ? 'the name is missing'
    : Number.isInteger(n) && n >= 1 && n <= 1098 ? '' : 'enter 1 to 1098 days'
  if (made)
    return (
      <Dialog title={`Token ${made.name}`} lock onClose={onClose}
        foot={<Button kind="main" onClick={onClose}>Done</Button>}>
        <div class="stack">
          <Notice tone="warn">It is shown only once. Dyno stores only a hash of it.</Notice>
          <div class="secret"><code>{made.token}</code><Copy text={made.token} label="Copy" /></div>
          <p class="dim">
            Programs send it as <code>Authorization: Bearer …</code>
              ; in Grafana's data source that is a custom HTTP header.
          </p>
        </div>
      </Dialog>
    )
  return (
    <Form title="Create token" yes="Create" why={why} stay onClose={onClose} run={async () => {
        setMade(await post('token/add', { name, role, days: n }))
        done()
      }}>
      <Field id="new-name" label="Name" value={name} set={setName} auto="off" focus
        note="of the program that uses it, such as grafana" />
      <RoleField role={role} set={setRole} />
      <Field id="new-days" label="Valid for days" value={days} set={setDays} auto="off" />
    </Form>
  )
}

function Logins({ all }: { all: boolean }) {
  const sessions = useGet('sessions', {}, { every: 30000 })
  const end = async (x: Login) => {
    try {
      await post('session/remove', { id: x.id })
    } catch (e) {
      toast(asError(e).message, 'bad')
    }
    sessions.reload()
  }
  const columns: Column<Login>[] = [
    ...(all ? [{ key: 'user', head: 'User', value: (x: Login) => x.user, cell: (x: Login) => <b>{x.user}</b> }] : []),
    { key: 'seen', head: 'Last seen', value: (x) => x.seen,
      cell: (x) => (x.this ? <Badge tone="good">this one</Badge> : when(x.seen)) },
    { key: 'created', head: 'Since', value: (x) => x.created, cell: (x) => day(x.created) },
    { key: 'address', head: 'From', value: (x) => x.address, cell: (x) => <span class="mono">{x.address}</span> },
    { key: 'agent', head: 'Browser', value: (x) => x.agent,
      cell: (x) => <span title={x.agent}>{safe(browserOf(x.agent))}</span> },
    {
      key: 'do', head: <span class="hide">Actions</span>, align: 'right',
      cell: (x) =>
        x.this ? null : (
          <Button small label={`End the session of ${x.user} from ${x.address}`}
            why={x.user === session.value?.name ? '' : whyNot()} onClick={() => void end(x)}>
            End
          </Button>
        ),
    },
  ]
  return (
    <section class="section stack">
      <h2>{all ? 'Sessions' : 'Your sessions'}</h2>
      <Show of={sessions}>
        {(v) => <Table columns={columns} rows={v.sessions} rowKey={(x) => x.id} label="Sessions" sort="-created"
        sortParam="sessions" />}</Show>
    </section>
  )
}

const entryColumns: Column<Entry>[] = [
  { key: 'at', head: 'When',
    cell: (e) => <span class="nowrap">{moment(seconds(e.at), { date: true, seconds: true })}</span> },
  { key: 'who', head: 'User', cell: (e) => <span class="nowrap" title={e.via}>{safe(e.who)}</span> },
  { key: 'from', head: 'From', cell: (e) => <span class="mono">{e.from || '–'}</span> },
  { key: 'what', head: 'Action', cell: (e) => <span>{safe(e.what.replace('POST /api/dyno/v1/', ''))}</span> },
  { key: 'detail', head: 'Detail', cell: (e) => <span class="dim">{safe(e.detail ?? '')}</span> },
  { key: 'outcome', head: 'Outcome', class: 'wraps', cell: (e) => <Outcome e={e} /> },
]

function Outcome({ e }: { e: Entry }) {
  if (!e.outcome) return <Badge tone="unknown">not finished</Badge>
  const [word = '', rest = ''] = e.outcome.split(/: (.*)/s)
  const tone = word === 'refused' ? 'warn' : word === 'failed' ? 'bad' : word === 'begun' ? 'info' : 'good'
  return <span class="outcome"><Badge tone={tone}>{word}</Badge> <span class="dim">{safe(rest)}</span></span>
}

/** What was tried, newest first. */
function Audit() {
  const newest: Data<{ entries: Entry[] }> = useGet('audit', { limit: 50 }, { every: 10000 })
  const [older, setOlder] = useState<Entry[]>([])
  const [end, setEnd] = useState(false)
  const top = newest.value?.entries
  useEffect(() => {
    if (top && top.length < 50) setEnd(true)
  }, [top])
  const first = top?.[0]
  const known = new Set(top?.map((e) => e.id))
  const rows = [...(top ?? []), ...older.filter((e) => !known.has(e.id))]
  const more = async () => {
    const last = rows[rows.length - 1]
    if (!last) return
    try {
      const v = await get('audit', { limit: 50, before: last.id })
      // what the first page held stays, for it moves on
      setOlder([...rows.filter((e) => e.id !== first?.id), ...v.entries])
      if (v.entries.length < 50) setEnd(true)
    } catch (e) {
      toast(asError(e).message, 'bad')
    }
  }
  return (
    <section class="section stack">
      <h2>Audit log</h2>
      <p class="dim">Every attempted change here or with <code>dyno user</code>, and every login.</p>
      <Show of={newest} empty={(v) => v.entries.length === 0} none={<Empty title="No entries yet" />}>
        {() => (
          <>
            <Table columns={entryColumns} rows={rows} rowKey={(e) => String(e.id)} label="Audit log" sortParam="log"
              class="audit" />
            {!end && <div><Button small onClick={() => void more()}>Older</Button></div>}
          </>
        )}
      </Show>
    </section>
  )
}

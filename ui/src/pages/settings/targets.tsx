// The inventory: how each server fares, what can be seen of it, and the grants that would show more.
import { useState } from 'preact/hooks'
import { href, inventory, post, reloadTargets, useParam, whyNot, type Data } from '../../core'
import { Badge, Button, Confirm, Dialog, Empty, Notice, Table, safe, toast, type Column } from '../../kit'
import { AddServer, wayOf } from './add'
import { isPostgresURL } from './address'
import { Grants } from './grants'
import { Sources } from './sources'
import type { Settings, Target as Entry, TargetRow as Target } from '../../core/openapi.gen'
import { flavorOf } from './words'

interface Row extends Target { entry?: Entry | undefined }

function Up({ t }: { t: Target }) {
  if (t.not_configured) return <Badge tone="warn">not configured</Badge>
  if (t.login_refused) return <Badge tone="warn">login refused</Badge>
  if (t.up === undefined) return <Badge tone="unknown">not tried yet</Badge>
  return t.up ? <Badge tone="good">up</Badge> : <Badge tone="bad">down</Badge>
}

const columns = (home: string): Column<Row>[] => [
  { key: 'name', head: 'Name', value: (r) => r.name, cell: (r) => <b>{safe(r.name)}</b> },
  { key: 'state', head: 'State', value: (r) => (r.up === undefined ? 1 : r.up ? 2 : 0), cell: (r) => <Up t={r} /> },
  { key: 'server', head: 'Server', value: (r) => r.server, cell: (r) => safe(r.server ?? '–') },
  { key: 'address', head: 'Address', value: (r) => r.address,
    cell: (r) => <span class="mono">{safe(r.address ?? r.entry?.url ?? '–')}</span> },
  {
    key: 'login', head: 'Password source',
    cell: (r) => {
      const e = r.entry
      if (!e) return <span class="faint">not in the inventory</span>
      const way = wayOf(e, home)
      if (way === 'env') return <code>${safe(e.password_env ?? '')}</code>
      if (way === 'none') return <span class="dim">none needed</span>
      if (way === 'kept') return <span class="dim">stored by Dyno</span>
      return e.defaults_file ? <code>{safe(e.defaults_file)}</code> : <span class="dim">
        {isPostgresURL(e.url) ? '~/.pgpass or PGPASSFILE' : 'the usual my.cnf files'}</span>
    },
  },
]

export function Targets({ settings }: { settings: Data<Settings> }) {
  const [open, setOpen] = useParam('open')
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState('')
  const [redacting, setRedacting] = useState<Entry>()
  const [editing, setEditing] = useState<Entry>()
  const home = settings.value?.home ?? ''
  const entries = settings.value?.targets ?? []
  const watched = inventory.value.list ?? []
  const rows: Row[] = watched.map((t) => ({ ...t, entry: entries.find((e) => e.name === t.name) }))
  for (const e of entries) if (!rows.some((r) => r.name === e.name)) rows.push({ name: e.name, entry: e })
  const at = rows.find((r) => r.name === open) ?? (rows.length === 1 ? rows[0] : undefined)
  const added = (name: string) => {
    setAdding(false)
    settings.reload()
    setOpen(name)
    toast(`Now watching ${name}`, 'good')
  }
  const edited = (name: string) => {
    setEditing(undefined)
    settings.reload()
    toast(`${name} was changed`, 'good')
  }
  return (
    <div class="stack">
      {settings.value?.fixed && <Notice tone="info">
        Dyno was started with named targets: servers added here are watched once it is started without them.</Notice>}
      <div class="row wrap">
        <p class="dim grow targets-about">Watched servers. Passwords are never shown, only where they come from.</p>
        <a class="button" href={href('welcome', {}, [])}>Find servers</a>
        <Button kind="main" icon="plus" why={whyNot()} onClick={() => setAdding(true)}>Add server</Button>
      </div>
      <Table columns={columns(home)} rows={rows} rowKey={(r) => r.name} selected={at?.name ?? null}
        onOpen={(r) => setOpen(r.name)} label="Targets" sort="name"
        empty={<Empty icon="server" title="No server is watched yet"
          hint="Dyno needs an address and a user with read access."
          action={<a class="button main" href={href('welcome', {}, [])}>Find servers</a>} />} />
      {at && (
        <section class="panel target-detail" aria-label={safe(at.name)}>
          <header>
            <h2>{safe(at.name)}</h2>
            <Up t={at} />
            {(at.entry?.redact || settings.value?.redact) && <Badge tone="good">redacted</Badge>}
            <span class="grow mono cut dim">{safe(at.entry?.url ?? '')}</span>
            <a class="button small" href={href('overview', { target: at.name }, [])}>Open</a>
            {at.entry && settings.value && (
              <Button small icon="settings" why={whyNot()} onClick={() => setEditing(at.entry)}>Edit</Button>
            )}
            {at.entry && !settings.value?.redact && (
              <Button small why={whyNot()} onClick={() => setRedacting(at.entry)}>
                {at.entry.redact ? 'Stop redacting' : 'Redact'}</Button>
            )}
            {at.entry && (
              <Button small kind="danger" why={whyNot()} onClick={() => setRemoving(at.name)}>Remove</Button>
            )}
          </header>
          <div class="body stack loose">
            {(at.up === false || at.login_refused) && (
              <Notice tone={at.login_refused ? 'warn' : 'bad'}>
                {safe(at.reason ?? '')}
                {at.fix && <span class="dim"> {safe(at.fix)}</span>}
              </Notice>
            )}
            {watched.some((t) => t.name === at.name) ? <Sources target={at.name} />
              : <p class="dim">Not watched yet.</p>}
            <div class="stack">
              <h3>Grants to copy</h3>
              <Grants key={at.name} flavor={flavorOf(at.server)} account={at.account} />
            </div>
          </div>
        </section>
      )}
      {rows.length > 1 && !at && <p class="faint">Select a target to see its data sources and grants.</p>}
      {adding && (
        <Dialog title="Add server" wide lock onClose={() => setAdding(false)}>
          <AddServer done={added} taken={entries.map((e) => e.name)} />
        </Dialog>
      )}
      {editing && (
        <Dialog title={`Edit ${safe(editing.name)}`} wide lock onClose={() => setEditing(undefined)}>
          <AddServer done={edited} taken={[]} of={editing} home={home} />
        </Dialog>
      )}
      {redacting && (
        <Confirm title={`${redacting.redact ? 'Stop redacting' : 'Redact'} ${redacting.name}?`}
          yes={redacting.redact ? 'Stop redacting' : 'Redact'} onClose={() => setRedacting(undefined)}
          run={async () => {
            await post('target/redact', { name: redacting.name, redact: !redacting.redact })
            settings.reload()
          }}>
          <p>{redacting.redact ? 'Literals of its statements are stored and shown again.'
            : 'From now on no literals of its statements are stored or shown. What was stored before stays until ' +
              'its retention ends.'}</p>
        </Confirm>
      )}
      {removing && (
        <Confirm title={`Stop watching ${removing}?`} yes="Remove" danger onClose={() => setRemoving('')}
          run={async () => {
            await post('target/remove', { name: removing })
            setOpen(null)
            reloadTargets()
            settings.reload()
          }}>
          <p>It is removed from the inventory. Its stored data is kept until it expires, and the server is not touched.
          </p>
        </Confirm>
      )}
    </div>
  )
}

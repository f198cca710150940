// The first minutes: servers of this machine with one button each, what is missing there, and a way to add another one.
import { useState } from 'preact/hooks'
import { go, href, inventory, post, reloadTargets, session, useGet, whyNot } from '../../core'
import { Badge, Button, Empty, Loading, Page, Problem, safe, Show, useRun } from '../../kit'
import { AddServer, CheckResult, Statements } from '../settings/add'
import { Fix } from '../settings/sources'
import type { Checked, Found, Target as Entry } from '../../core/openapi.gen'
import { flavorName } from '../settings/words'
import { lookAgain } from './pauses'
import '../settings/settings.css'
import './welcome.css'

export function WelcomePage() {
  const looks = session.value?.role === 'operator' // the search logs in
  const found = useGet(looks ? 'discover' : null, {}, { every: (v, tries) => lookAgain(v?.found.length ?? 0, tries) })
  const names = (inventory.value.list ?? []).map((t) => t.name)
  const open = (name: string) => go(href('overview', { target: name }, []))
  return (
    <Page title="Welcome"
      actions={looks && <Button icon="reload" disabled={found.loading} onClick={found.reload}>Search again</Button>}>
      <div class="welcome">
        <p class="lead">
          Dyno samples a server every second and stores the data. It needs an address and an account; sampling never
            changes a server.
        </p>
        {looks && <section class="stack">
          <h2>On this machine</h2>
          <Show of={found} lines={5} what="Search" empty={(v) => v.found.length === 0}
            none={<Empty icon="search"
              title={`No ${names.length > 0 ? 'other ' : ''}MySQL, MariaDB or PostgreSQL server was found here`}
              hint="Dyno searched sockets, ports and ~/.my.cnf. A server appears here when it starts." />}>
            {(v) => (
              <ul class="stack">{v.found.map((f) => <li key={f.address}><Server f={f} open={open} /></li>)}</ul>
            )}
          </Show>
          {found.value?.notes?.map((n) => <p key={n} class="faint">{safe(n)}</p>)}
        </section>}
        <section class="panel">
          <header><h2>Another server</h2></header>
          <div class="body"><AddServer done={open} taken={names} /></div>
        </section>
      </div>
    </Page>
  )
}

function Server({ f, open }: { f: Found; open: (name: string) => void }) {
  const { busy, error, run } = useRun()
  const [checked, setChecked] = useState<Checked>()
  const entry: Entry = { name: f.name, url: f.url, ...(f.defaults_file ? { defaults_file: f.defaults_file } : {}) }
  const watch = () =>
    run(async () => {
      const t = await post('target/add', entry)
      reloadTargets()
      open(t.name)
    })
  const look = () => run(async () => setChecked(await post('target/check', f.target ? { name: f.target } : entry)))
  const may = f.login === 'ok' || checked?.reached === true
  return (
    <section class="panel found" aria-label={f.name}>
      <header>
        <h3>{f.target ?? f.name}</h3>
        <State f={f} reached={checked?.reached} />
        <span class="grow" />
        {f.target ? <a class="button main" href={href('overview', { target: f.target }, [])}>Open</a> : (
          <>
            {!may && <Button why={whyNot()} disabled={busy} onClick={() => void look()}>Try to log in</Button>}
            {may && <Button why={whyNot()} disabled={busy} onClick={() => void look()}>Check access</Button>}
            <Button kind={may ? 'main' : 'plain'} icon="plus" why={whyNot() || (may ? '' : 'no login yet')}
              disabled={busy} onClick={() => void watch()}>
              Add
            </Button>
          </>
        )}
      </header>
      <div class="body stack">
        <p>
          <b>{safe(`${flavorName(f.flavor)} ${f.version ?? ''}`)}</b>{' '}
          at <code>{f.address}</code>
          {f.also && f.also.length > 0 && <span class="dim">, also <code>{f.also.join(', ')}</code></span>}
          <span class="faint"> · found by {f.found_by.join(', ')}</span>
        </p>
        {f.login === 'ok' && (
          <p class="dim">
            Logged in as <code>{f.user}</code>
            {f.defaults_file === '/dev/null' ? ' without a password.' : ' with the settings in your my.cnf.'}
          </p>
        )}
        {!checked && f.reason && !f.target && (
          <p>{safe(sentence(f.reason))} {f.fix && <span class="dim">{safe(sentence(f.fix))}</span>}</p>
        )}
        {!checked && f.create_account && f.create_account.length > 0 && (
          <Statements title="Run this on the server as an administrator, then search again:" all={f.create_account} />
        )}
        {!checked && f.lacks && f.lacks.length > 0 && (
          <div class="stack tight">
            <p class="dim">It can be watched as it is. Unavailable data:</p>
            <ul class="lacks">
              {f.lacks.map((l) => (
                <li key={l.what}>
                  <b>{l.what}</b> <span class="dim">{l.reason}</span> {l.fix && <Fix fix={l.fix} />}
                </li>
              ))}
            </ul>
          </div>
        )}
        {error && <Problem error={error} />}
        {busy ? <Loading lines={2} /> : checked && <CheckResult c={checked} />}
      </div>
    </section>
  )
}

/** Words that come without capital and full stop, as a sentence. */
function sentence(s: string): string {
  return s.charAt(0).toUpperCase() + s.slice(1) + (/[.:;!?…]$/.test(s) ? '' : '.')
}

function State({ f, reached }: { f: Found; reached?: boolean | undefined }) {
  if (f.target) return <Badge tone="good">watched</Badge>
  if (f.login === 'ok' || reached) return <Badge tone="good">ready</Badge>
  switch (f.login) {
    case 'refused':
      return <Badge tone="warn">no login yet</Badge>
    case 'failed':
      return <Badge tone="bad">does not answer</Badge>
  }
  return <Badge tone="unknown">not tried</Badge>
}

export default WelcomePage

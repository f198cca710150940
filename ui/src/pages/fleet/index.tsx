// Every server at a glance: is it up, what does it do, what is wrong with it.
import { useEffect, useMemo } from 'preact/hooks'
import { connected, courses, get, go, href, inventory, mayChange, now, reloadTargets, second, text, useData, useParam,
  useVitals, withParams } from '../../core'
import { Button, Empty, findTargets, Icon, Loading, Notice, Page, Problem, Search } from '../../kit'
import { Card } from './card'
import { FleetTable } from './table'
import { byTrouble, filters, row, type Row } from './rows'
import './fleet.css'

const back = 15 * 60 // seconds of the small lines
const step = 15

/** Up to so many targets have a card each; more are rows. */
const cards = 8

export function FleetPage() {
  const { list, error } = inventory.value
  return (
    <Page title="Fleet" actions={mayChange() && <a class="button" href={href('welcome', {}, [])}><Icon name="plus" />
      <span>Add server</span></a>}>
      {list === undefined ? (
        error ? <Problem error={error} what="Inventory" /> : <Loading lines={6} />
      ) : list.length === 0 ? <First /> : <Fleet />}
    </Page>
  )
}

/**
 * Nothing is watched yet: the first minutes have a page of their own. A Dyno that has just started may only not have
 * read its inventory yet.
 */
function First() {
  useEffect(() => {
    const again = setTimeout(reloadTargets, 800)
    const leave = setTimeout(() => go(href('welcome', {}, []), { replace: true }), 2000)
    return () => {
      clearTimeout(again)
      clearTimeout(leave)
    }
  }, [])
  return <Loading lines={6} />
}

function Fleet() {
  const at = second.value // once a second is often enough, however many servers report in between
  const list = inventory.value.list ?? []
  const stream = useVitals()
  const vitals = stream.peek().size === 0 ? stream.value : stream.peek() // the first ones at once
  const course = useData('fleet', async (signal) => {
    const end = Math.floor(now() / step) * step
    const all =
      await courses(
      'sum by (target) (rate(dyno_client_status_total{variable="questions"}[30s])) or sum by (target) ' +
        '(rate(mysql_global_status_questions[30s])) or sum by (target) ' +
        '(rate(dyno_client_statements_total[30s]))', end - back, end, step, signal)
    return new Map(all.map((c) => [c.labels['target'] ?? '', c.values]))
  }, { every: 30_000 })
  const judged = useData('diagnoses', async (signal) => {
    const { diagnoses } = await get('diagnoses', {}, signal)
    return new Map(diagnoses.map((v) => [v.target, v]))
  }, { every: 10_000 })
  const [show] = useParam('show', 'all')
  const [q] = useParam('q')
  const [view] = useParam('view', list.length > cards ? 'rows' : 'cards')

  const rows = useMemo(
    () => list.map((t) => row(t, vitals.get(t.name), course.value?.get(t.name), judged.value?.get(t.name), now())).sort(
      byTrouble),
    [at, list, vitals.size === 0, course.value, judged.value])
  const found = useMemo(() => {
    const named = new Set(findTargets(list, q).map((t) => t.name))
    return rows.filter((r) => named.has(r.name) && (filters[show] ?? (() => true))(r))
  }, [rows, q, show])
  const judging = judged.value !== undefined

  return (
    <>
      <Broken rows={rows} />
      <Summary rows={rows} />
      {list.length > 1 && (
        <div class="fleet-tools">
          <Search label="Find a server" placeholder="name, address, label" />
          <Filters rows={rows} show={show} />
          <span class="grow" />
          <div class="segments" role="group" aria-label="View">
            <a class="segment" href={withParams({ view: list.length > cards ? 'cards' : null })}
              aria-current={view === 'cards' ? 'true' : undefined} title="Cards"><Icon name="fleet" />
              <span class="hide">Cards</span></a>
            <a class="segment" href={withParams({ view: list.length > cards ? null : 'rows' })}
              aria-current={view === 'rows' ? 'true' : undefined} title="Rows"><Icon name="queries" />
              <span class="hide">Rows</span></a>
          </div>
        </div>
      )}
      {found.length === 0 ? (
        <Empty icon="search" title="No server matches"
          hint={q ? `Nothing has "${q}" in its name, address, version or labels.` : undefined}
          action={<a class="button" href={withParams({ q: null, show: null })}>Show all {list.length}</a>} />
      ) : view === 'rows' ? <FleetTable rows={found} judging={judging} /> : (
        <ul class={`cards${list.length === 1 ? ' single' : ''}`}>
          {found.map((r) => <li key={r.name}><Card row={r} judging={judging} minutes={back / 60} /></li>)}
        </ul>
      )}
    </>
  )
}

/** The page must not look alive when it is not. */
function Broken({ rows }: { rows: Row[] }) {
  if (connected.value !== 'lost') return null
  const newest = rows.reduce((a, r) => Math.max(a, r.at ?? 0), 0)
  const s = Math.round(now() - newest)
  return (
    <Notice tone="bad" action={<Button small onClick={() => location.reload()}>Reload</Button>}>
      <b>No data is arriving.</b> {newest > 0 && `The newest reading is ${s} s old. `}
      <span class="dim">Is dyno serve still running? This page reconnects automatically.</span>
    </Notice>
  )
}

function Summary({ rows }: { rows: Row[] }) {
  const silent = rows.filter((r) => r.silent).length
  const up = rows.filter((r) => r.up === true && !r.silent).length
  const down = rows.filter((r) => r.up === false).length
  const unset = rows.filter((r) => r.barred === 'not configured').length
  const refused = rows.filter((r) => r.barred === 'login refused').length
  const incidents = rows.filter((r) => r.up === true && (r.target.incidents ?? []).length > 0).length
  const open = rows.length - up - down - silent - unset - refused
  const sum = (f: (r: Row) => number | undefined) => {
    const known = rows.map(f).filter((v): v is number => v !== undefined)
    return { v: known.length > 0 ? known.reduce((a, b) => a + b, 0) : undefined, of: known.length }
  }
  const qps = sum((r) => r.qps)
  const running = sum((r) => r.running)
  const worst = { critical: 0, warning: 0, notice: 0 }
  for (const r of rows) if (r.diagnosis?.severity && r.diagnosis.severity in worst)
    worst[r.diagnosis.severity as keyof typeof worst]++
  const part = (n: number) => (n < up ? ` of ${n} ${n === 1 ? 'server' : 'servers'}` : '')
  return (
    <p class="summary">
      <span><b>{rows.length}</b> {rows.length === 1 ? 'server' : 'servers'}</span>
      {down > 0 && <span class="tone-bad"><Icon name="bad" size={14} /><b>{down}</b> down</span>}
      {unset > 0 && <span class="tone-warn"><Icon name="warn" size={14} /><b>{unset}</b> not configured</span>}
      {refused > 0 && <span class="tone-warn"><Icon name="warn" size={14} /><b>{refused}</b> login refused</span>}
      {incidents > 0 && <span class="tone-bad"><Icon name="warn" size={14} /><b>{incidents}</b> with an incident</span>}
      {open > 0 && <span class="tone-unknown"><Icon name="unknown" size={14} /><b>{open}</b> not tried yet</span>}
      {silent > 0 && <span class="tone-warn"><Icon name="warn" size={14} /><b>{silent}</b> silent</span>}
      {down === 0 && open === 0 && silent === 0 && unset === 0 && refused === 0 &&
        <span class="tone-good"><Icon name="good" size={14} />{rows.length === 1 ? 'up' : 'all up'}</span>}
      {rows.length > 1 && qps.of > 0 && <span><b>{text(qps.v, '/s')}</b> statements{part(qps.of)}</span>}
      {rows.length > 1 && running.of > 0 &&
        <span><b>{text(running.v, '')}</b> sessions running{part(running.of)}</span>}
      {worst.critical > 0 && <span class="tone-bad"><Icon name="warn" size={14} />
        <b>{worst.critical}</b> with a critical finding</span>}
      {worst.warning > 0 && <span class="tone-warn"><Icon name="warn" size={14} />
        <b>{worst.warning}</b> with a warning</span>}
    </p>
  )
}

function Filters({ rows, show }: { rows: Row[]; show: string }) {
  const items = [['all', 'All'], ['up', 'Up'], ['down', 'Down or silent'], ['findings', 'With findings']] as const
  return (
    <div class="segments" role="group" aria-label="Which servers">
      {items.map(([k, name]) => (
        <a key={k} class="segment" href={withParams({ show: k === 'all' ? null : k })}
          aria-current={show === k ? 'true' : undefined}>
          {name} <span class="segment-count">{rows.filter(filters[k] ?? (() => true)).length}</span>
        </a>
      ))}
    </div>
  )
}

export default FleetPage

// A server: is it busy, with what, what does it wait for, and is memory or the disk the limit?
import type { VNode } from 'preact'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { go, href, markNow, mayChange, moment, now, parseSpan, route, setParams, useKeys, useParam, useTarget,
  withParams } from '../../core'
import { cursors, Explore, Graph, kindName, Latency, sortOut, type Graphs, type Mark } from '../../graph'
import type { Graph as Panel } from '../../core/openapi.gen'
import { Button, Copy, Empty, Icon, Loading, Notice, Page, Problem, safe } from '../../kit'
import { Annotate } from './annotate'
import { wanted } from './asked'
import { anything, useFeed } from './feed'
import { Incidents, marksOf, OneIncident, useIncidents } from './incidents'
import { useMarks } from './marks'
import { Strip } from './strip'
import { TopQueries } from './top'
import './overview.css'

export function OverviewPage() {
  return <Page title="Overview" target range wide actions={<CompareSwitch />}><Content /></Page>
}

export default OverviewPage

const sync = 'server'

/** What graphs can be compared with, as the URL has it. */
const befores: Record<string, { name: string; of: string }> = {
  '1d': { name: 'yesterday', of: 'Compare with yesterday' },
  '7d': { name: 'a week earlier', of: 'Compare with a week earlier' },
  '1h': { name: 'an hour earlier', of: 'Compare with an hour earlier' },
}

function CompareSwitch() {
  const [compare, set] = useParam('compare')
  return (
    <select class="input sv-compare" aria-label="Compare with" value={compare}
      onChange={(e) => set(e.currentTarget.value || null)}>
      <option value="">Compare with …</option>
      <option value="1d">with yesterday</option>
      <option value="7d">with a week earlier</option>
      <option value="1h">with an hour earlier</option>
      {compare !== '' && !(compare in befores) && <option value={compare}>with {safe(compare)} earlier</option>}
    </select>
  )
}

function Content() {
  const [target] = useTarget()
  const [compare, setCompare] = useParam('compare')
  const [large, setLarge] = useParam('panel')
  const [tabled, setTabled] = useParam('table')
  const table = tabled !== ''
  const setTable = (on: boolean) => setTabled(on ? '1' : null, { replace: true })
  const [note, setNote] = useState<number>()
  const [pinned, setPinned] = useState<number>()
  const back = Math.abs(parseSpan(compare))
  const feed = useFeed(wanted(route.value.params))
  const g = feed.graphs
  const events = useMarks(target, g?.from, g?.to, feed.live)
  const incidents = useIncidents(target)
  const [incident] = useParam('incident')
  const drawn = useMemo(
    () => events.value && [...events.value, ...marksOf(incidents.value?.incidents, incident)].sort((a, b) => a.at - b.at),
    [events.value, incidents.value, incident])
  const marks = { value: drawn, reload: events.reload }
  const before = back > 0 ? (befores[compare]?.name ?? `${safe(compare)} earlier`) : undefined

  // Zooming goes a step into the history of the browser, which knows it by its mark; going back undoes it.
  const zoom = useCallback((a: number, b: number) => {
    const [x, y] = b - a < 10 ? [(a + b) / 2 - 5, (a + b) / 2 + 5] : [a, b]
    setParams({ from: Math.floor(x), to: Math.min(Math.ceil(y), Math.ceil(now())) }, { mark: 'zoom' })
  }, [])
  const unzoom = useCallback(() => {
    setPinned(undefined) // a double click begins with one
    if (markNow() === 'zoom') history.back()
    else setParams({ from: null, to: null })
  }, [])
  const here = () => cursors.get(sync) ?? pinned
  useKeys({
    ...(mayChange() ? { a: { help: 'add a note to the timeline', run: () => setNote(here() ?? now()) } } : {}),
    c: { help: 'compare with yesterday on or off', run: () => setCompare(compare === '' ? '1d' : null) },
    t: { help: 'graphs as tables', run: () => setTable(!table) },
    n: { help: 'what ran at the cursor', run: () => go(href('activity', { at: Math.round(here() ?? now()) })) },
    Escape: {
      help: 'close the large graph or reset the zoom',
      run: () => {
        if (pinned !== undefined) setPinned(undefined)
        else if (large) setLarge(null)
        else unzoom()
      },
    },
  })
  useEffect(() => setPinned(undefined), [target])
  const all = <Button icon="left" onClick={() => setLarge(null)}>All graphs</Button>

  return (
    <div class="sv-server">
      {incident !== '' ? <OneIncident key={incident} id={incident} /> : <Incidents of={incidents} />}
      <Strip target={target} />
      {feed.error && g && (
        <Notice tone="warn" action={<Button small icon="reload" onClick={feed.reload}>Try again</Button>}>
          <b>Data as of {moment(g.to, { seconds: true })}.</b> {safe(feed.error.message)}
        </Notice>
      )}
      {g === undefined ? (
        feed.error ? (
          <>{large && <div>{all}</div>}<Problem error={feed.error} retry={feed.reload} what="Graphs" /></>
        ) : <Loading lines={8} />
      ) : !anything(g) ? <Nothing target={target} live={feed.live} /> : large ? (
        <Large g={g} id={large} marks={marks.value} before={before} table={table} onZoom={zoom} onBack={unzoom}
          onPick={setPinned} close={all} onTable={() => setTable(!table)} />
      ) : (
        <Groups g={g} marks={marks.value} before={before} table={table} onZoom={zoom} onBack={unzoom}
          onPick={setPinned} />
      )}
      {g && !large && <Latency target={target} from={g.from} to={g.to} live={feed.live} sync={sync} onZoom={zoom} />}
      {g && !large && <Happened marks={marks.value} />}
      {pinned !== undefined &&
        <Pinned at={pinned} onNote={() => setNote(pinned)} onClose={() => setPinned(undefined)} />}
      {note !== undefined &&
        <Annotate target={target} at={note} onClose={() => setNote(undefined)} onDone={marks.reload} />}
    </div>
  )
}

interface Shown {
  g: Graphs
  marks: Mark[] | undefined
  before: string | undefined
  table: boolean
  onZoom: (a: number, b: number) => void
  onBack: () => void
  onPick: (t: number) => void
}

/** How many graphs are in a row: rows are filled evenly, so that none is alone in its row. */
export function columns(width: number, n: number): number {
  const most = Math.max(1, Math.floor((width + 12) / 332))
  return Math.max(1, Math.ceil(n / Math.ceil(n / most)))
}

/** The width of an element, as it changes. */
function useWidth(): [number, (el: HTMLElement | null) => void] {
  const [width, set] = useState(0)
  const observer = useRef<ResizeObserver>()
  const ref = useCallback((el: HTMLElement | null) => {
    observer.current?.disconnect()
    if (!el) return
    set(el.clientWidth)
    observer.current = new ResizeObserver(() => set(el.clientWidth))
    observer.current.observe(el)
  }, [])
  return [width, ref]
}

function Groups(p: Shown) {
  const { shown, unknown } = useMemo(() => sortOut(p.g.panels), [p.g])
  const [width, box] = useWidth()
  const names = [...new Set(p.g.panels.map((x) => x.group))]
  return (
    <div class="sv-groups" ref={box}>
      {width > 0 && names.map((name) => {
        const dark = unknown.filter((x) => x.group === name)
        const bright = shown.filter((x) => x.group === name)
        const n = columns(width, bright.length)
        return (
          <section class="sv-group" key={name} aria-label={name}>
            <h2>{name}</h2>
            <div class={`sv-panels sv-${n}`}>
              {bright.map((x) => (
                  <Card key={x.id} panel={x} from={p.g.from} to={p.g.to} step={p.g.step} marks={p.marks}
                    before={p.before} table={p.table} onZoom={p.onZoom} onBack={p.onBack} onPick={p.onPick} />
                ))}
            </div>
            {name === 'With what?' && <TopQueries target={p.g.target} />}
            {dark.map((x) => (
              <p class="sv-quiet" key={x.id}>
                <Icon name="unknown" size={13} />
                <span><b>{x.title} unavailable</b>: {why(x)}</span>
              </p>
            ))}
          </section>
        )
      })}
    </div>
  )
}

/** Why nothing, or a part, of a panel is known: each reason once, with what it is the reason for. */
function why(p: Panel): string {
  const by = new Map<string, string[]>()
  for (const l of p.lines) if (l.unknown !== undefined && l.limit !== true)
    by.set(l.unknown, [...(by.get(l.unknown) ?? []), l.name])
  const all = p.lines.every((l) => l.unknown !== undefined)
  if (all && by.size === 1) return safe([...by.keys()][0] ?? '')
  return safe([...by].map(([reason, lines]) => `${lines.join(', ')}: ${reason}`).join('; '))
}

interface CardProps extends Omit<Shown, 'g'> { panel: Panel; from: number; to: number; step: number }

/** What a card shows is rebuilt only when something of it changed. */
function Card(p: CardProps) {
  const link = withParams({ panel: p.panel.id })
  return useMemo(() => card(p, link), [link, p.panel, p.from, p.to, p.step, p.marks, p.before, p.table, p.onZoom,
    p.onBack, p.onPick])
}

function card(p: CardProps, link: string) {
  const x = p.panel
  const missing = x.lines.some((l) => l.unknown !== undefined && l.limit !== true)
  return (
    <article class="sv-card" id={`panel-${x.id}`} aria-label={x.title}>
      <header class="sv-card-head">
        <h3 title={x.about}><a href={link}>{x.title}</a></h3>
        {unitName(x.unit) && <span class="sv-card-unit">{unitName(x.unit)}</span>}
        <span class="sv-card-tools">
          {missing && (
            <span class="sv-card-missing" title={'Unavailable: ' + why(x)}>
              <Icon name="unknown" size={13} />
              <span class="hide">Unavailable: {why(x)}</span>
            </span>
          )}
          <Explore panel={x} />
        </span>
      </header>
      <Graph panel={x} from={p.from} step={p.step} range={{ from: p.from, to: p.to }} sync={sync} height={148}
        table={p.table} compare={p.before} {...(p.marks ? { events: p.marks } : {})} onZoom={p.onZoom}
        onBack={p.onBack} onPick={p.onPick} />
    </article>
  )
}

/** The unit as it appears next to a title; it is on the axis where that has room for it. */
function unitName(unit: string): string {
  switch (unit) {
    case '/s':
      return 'per second'
    case 'rows/s':
      return 'rows per second'
    case 'B/s':
      return 'bytes per second'
    case 's/s':
      return 'seconds per second'
    case 'B':
      return 'bytes'
    case 's':
    case 'connections':
      return ''
    case 'ratio':
      return '%'
  }
  return unit
}

function Large(p: Shown & { id: string; close: VNode; onTable: () => void }) {
  const x = p.g.panels.find((y) => y.id === p.id)
  const range = useMemo(() => ({ from: p.g.from, to: p.g.to }), [p.g.from, p.g.to])
  if (!x) return <Empty icon="server" title={`There is no graph "${p.id}"`} action={p.close} />
  return (
    <article class="sv-large" aria-label={x.title}>
      <header class="sv-large-head">
        {p.close}
        <h2>{x.title}</h2>
        <span class="sv-card-unit">{unitName(x.unit)}</span>
        <Explore panel={x} />
        <Button icon="table" pressed={p.table} onClick={p.onTable}>Figures</Button>
      </header>
      <p class="dim">{x.about}</p>
      <Graph panel={x} from={p.g.from} step={p.g.step} range={range} sync={sync}
        height={Math.max(260, Math.min(520, innerHeight - 380))} table={p.table} compare={p.before}
        {...(p.marks ? { events: p.marks } : {})} onZoom={p.onZoom} onBack={p.onBack} onPick={p.onPick} />
      <h3>PromQL</h3>
      <ul class="sv-exprs">
        {x.lines.map((l) => (
          <li key={l.name}>
            <span class="sv-expr-name">{safe(l.name)}</span>
            {l.unknown !== undefined ? <span class="dim">{safe(l.unknown)}</span>
              : <><code>{l.expr}</code><Copy bare text={l.expr} label={`Copy the PromQL of ${l.name}`} /></>}
          </li>
        ))}
      </ul>
      <Happened marks={p.marks} />
    </article>
  )
}

/** Nothing is known in this time: it was just added, it is down, or the time is too long ago. */
function Nothing({ target, live }: { target: string; live: boolean }) {
  return live ? (
    <Empty icon="server" title={`No data for ${target} in this time range yet`}
      hint={<>The graphs start with the first sample, seconds after Dyno connects. This page updates automatically.
    </>} />
  ) : (
    <Empty icon="calendar" title={`No data for ${target} in this time range`}
      hint={<>Dyno did not watch it then, or the data has expired.</>}
      action={<a class="button" href={withParams({ from: null, to: null })}>Last hour</a>} />
  )
}

/** What happened in the time that is shown, newest first. */
function Happened({ marks }: { marks: Mark[] | undefined }) {
  if (!marks || marks.length === 0) return null
  const list = [...marks].reverse()
  return (
    <section class="sv-group" aria-label="Events">
      <h2>Events</h2>
      <ul class="sv-happened">
        {list.slice(0, 200).map((m) => (
          <li key={m.id}>
            <a class="sv-happened-at" href={href('activity', { at: Math.round(m.at) })} title="What ran then">
              {moment(m.at, { seconds: true, date: true })}
            </a>
            <span class="sv-happened-kind">{safe(kindName(m.kind))}</span>
            <span class="sv-happened-text">
              {safe(m.text)}
              {m.ref?.startsWith('d-') && <>{' '}<a href={href('findings', { diagnosis: m.ref })}>Diagnosis</a></>}
            </span>
          </li>
        ))}
      </ul>
      {list.length > 200 && <p class="sv-quiet">{list.length - 200} more; zoom in to see them.</p>}
    </section>
  )
}

/** A moment that was clicked, and where it leads. */
function Pinned({ at, onNote, onClose }: { at: number; onNote: () => void; onClose: () => void }) {
  return (
    <div class="sv-pinned" role="status">
      <b>{moment(at, { seconds: true })}</b>
      <a class="button" href={href('activity', { at: Math.round(at) })}>What ran then</a>
      <a class="button" href={href('queries', { from: Math.round(at) - 150, to: Math.round(at) + 150 })}>
        Queries in these 5 min
      </a>
      {mayChange() && <Button icon="flag" onClick={onNote}>Note</Button>}
      <Button kind="quiet" icon="close" label="Close" onClick={onClose} />
    </div>
  )
}

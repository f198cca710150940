// Which target, and which time: both stand in the URL.
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { useKeys } from '../core/keys'
import { inventory, useTarget } from '../core/targets'
import { moment, parseSpan, useRange, zone } from '../core/time'
import { now } from '../core/clock'
import { Button } from './button'
import { DiagnoseRange } from './diagnoserange'
import { findTargets, parseTyped } from './find'
import { Icon } from './icons'
import { Menu } from './menu'
import { safe } from './sqltext'

/** up, down or not known, as an icon with a word for those who listen. */
export function UpIcon({ up }: { up: boolean | undefined }) {
  const tone = up === undefined ? 'unknown' : up ? 'good' : 'bad'
  return (
    <span class={`tone-${tone}`} title={up === undefined ? 'not tried yet' : up ? 'up' : 'down'}>
      <Icon name={tone} size={14} />
      <span class="hide">{up === undefined ? 'unknown' : up ? 'up' : 'down'}</span>
    </span>
  )
}

/** Chooses the target; with two hundred of them by typing a part of the name. */
export function TargetPicker() {
  const [target, setTarget] = useTarget()
  const here = inventory.value.list?.find((t) => t.name === target)
  return (
    <Menu label="Target" text={<span class="row">{here ? <UpIcon up={here.up} /> : <Icon name="server" />}
      <span class="cut">{safe(target) || 'choose a target'}</span></span>}>
      {(close) => (
        <TargetList now={target} choose={(t) => {
            setTarget(t)
            close()
          }} />
      )}
    </Menu>
  )
}

function TargetList({ now, choose }: { now: string; choose: (name: string) => void }) {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const input = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const all = inventory.value.list ?? []
  const found = useMemo(() => findTargets(all, typed), [all, typed])
  useEffect(() => {
    input.current?.focus()
    setAt(Math.max(0, all.findIndex((t) => t.name === now)))
  }, [])
  const move = (i: number) => {
    const n = Math.max(0, Math.min(found.length - 1, i))
    setAt(n)
    list.current?.children[n]?.scrollIntoView({ block: 'nearest' })
  }
  return (
    <div class="stack">
      <div class="search">
        <Icon name="search" />
        <input ref={input} class="input" role="combobox" aria-expanded="true" aria-controls={id}
          aria-activedescendant={found[at] ? `${id}-${at}` : undefined} aria-label="Find a target"
          placeholder="name, address, label" spellcheck={false} autocomplete="off" value={typed} onInput={(e) => {
            setTyped(e.currentTarget.value)
            setAt(0)
          }}
          onKeyDown={(e) => {
            if (e.key === 'ArrowDown') move(at + 1)
            else if (e.key === 'ArrowUp') move(at - 1)
            else if (e.key === 'Enter' && found[at]) choose(found[at].name)
            else return
            e.preventDefault()
          }} />
      </div>
      <div class="menu-list" role="listbox" id={id} ref={list} aria-label="Targets">
        {found.map((t, i) => (
          <button key={t.name} id={`${id}-${i}`} type="button" role="option" tabIndex={-1}
            aria-selected={t.name === now} class={`menu-item${i === at ? ' on' : ''}`} onClick={() => choose(t.name)}>
            <UpIcon up={t.up} />
            <span class="cut">{safe(t.name)}</span>
            <span class="side cut">{safe(t.server ?? t.address ?? '')}</span>
          </button>
        ))}
        {found.length === 0 &&
          <p class="faint menu-item">{all.length === 0 ? 'The inventory is empty.' : 'No target matches.'}</p>}
      </div>
    </div>
  )
}

const presets = [
  ['-5m', '5 min'], ['-15m', '15 min'], ['-30m', '30 min'], ['-1h', '1 h'], ['-3h', '3 h'], ['-6h', '6 h'],
    ['-12h', '12 h'], ['-24h', '24 h'], ['-7d', '7 d'], ['-30d', '30 d'],
] as const

const two = (n: number) => String(n).padStart(2, '0')
/** A moment as it is typed: 2026-11-03 12:00:00. */
export function typed(t: number): string {
  const d = new Date(t * 1000)
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ` +
    `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`
}

/** Chooses the time: a span that ends now and moves, or from and to. "[" and "]" shift by half of it. */
export function RangePicker({ none }: { none?: string }) {
  const [range, setRange] = useRange(none)
  const [target] = useTarget()
  const width = range.to - range.from
  const shift = (by: number) => {
    const to = range.to + (by * width) / 2
    if (to >= now() - 1) setRange(width % 1 === 0 ? `-${Math.round(width)}s` : String(now() - width), 'now')
    else setRange(String(Math.round(to - width)), String(Math.round(to)))
  }
  useKeys({
    '[': { help: 'half a window back', run: () => shift(-1) },
    ']': { help: 'half a window forward', run: () => shift(1) },
  })
  return (
    <div class="range">
      <Button kind="quiet" icon="left" label="Half a window back ([)" onClick={() => shift(-1)} />
      <Menu label="Time range" icon="calendar" text={range.text} align="right">
        {(close) => (
          <RangeForm from={range.from} to={range.to} live={range.live} width={width} set={(f, t) => {
              setRange(f, t)
              close()
            }} />
        )}
      </Menu>
      <Button kind="quiet" icon="right" label="Half a window forward (])" disabled={range.live}
        onClick={() => shift(1)} />
      {!range.live && (
        <Button kind="quiet" icon="play" label="Back to now"
          onClick={() => setRange(`-${Math.round(width)}s`, 'now')} />
      )}
      {!range.live && target !== '' && <DiagnoseRange target={target} from={range.from} to={range.to} />}
    </div>
  )
}

function RangeForm(
  p: { from: number; to: number; live: boolean; width: number; set: (from: string, to: string) => void }) {
  const [from, setFrom] = useState(typed(p.from))
  const [to, setTo] = useState(p.live ? 'now' : typed(p.to))
  const a = parseTyped(from, now())
  const b = parseTyped(to, now())
  const wrong = Number.isNaN(a) ? 'from' : Number.isNaN(b) ? 'to' : a >= b ? 'order' : ''
  return (
    <>
      <p class="faint">Times are in {zone(p.to)}</p>
      <div class="ranges">
        {presets.map(([v, name]) => (
          <Button key={v} small pressed={p.live && Math.abs(p.width + parseSpan(v)) < 1}
            onClick={() => p.set(v, 'now')}>
            {name}
          </Button>
        ))}
      </div>
      <form class="range-form" onSubmit={(e) => {
          e.preventDefault()
          if (wrong === '')
            p.set(/^-/.test(from.trim()) ? from.trim() : String(Math.round(a)), to.trim() === 'now' ? 'now'
            : String(Math.round(b)))
        }}>
        <div class="field">
          <label for="range-from">From</label>
          <input id="range-from" class="input" value={from} aria-invalid={wrong === 'from' || wrong === 'order'}
            onInput={(e) => setFrom(e.currentTarget.value)} />
        </div>
        <div class="field">
          <label for="range-to">To</label>
          <input id="range-to" class="input" value={to} aria-invalid={wrong === 'to'}
            onInput={(e) => setTo(e.currentTarget.value)} />
        </div>
        <p class="wide faint">
          {wrong === '' ? `${moment(a, { date: true })} – ${to.trim() === 'now' ? 'now' : moment(b, { date: true })}`
            : wrong === 'order' ? 'from must be before to' : 'such as 2026-11-03 12:00, 12:00, -2h, now'}
        </p>
        <div class="wide row">
          <Button submit kind="main" small disabled={wrong !== ''}>Show</Button>
          <span class="faint">browser time zone</span>
        </div>
      </form>
    </>
  )
}

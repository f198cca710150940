import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ago, count, get, moment, now, queryRange, useData, type Range } from '../../core'
import { Button, Menu, safe } from '../../kit'
import { gaps, nearest, speeds, stretch } from './moments'

export interface Mark { id?: string; at: string; until?: string; kind: string; text: string }

interface Course { times: number[]; marks: Mark[]; running: [number, number][]; waiting: [number, number][] }

const steps = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800]

/**
 * What is drawn of a stretch: kept moments, events, how many sessions ran and waited. Parts that cannot be had are left
 * out.
 */
async function course(target: string, from: number, to: number, signal: AbortSignal): Promise<Course> {
  const step = Math.max(1, Math.ceil((to - from) / 400))
  const label = JSON.stringify(target)
  const range = async (expr: string): Promise<[number, number][]> => {
    const m = await queryRange({ query: expr, start: from, end: to, step }, signal)
    return (m.data.result[0]?.values ?? []).map(([t, v]) => [t, Number(v)])
  }
  const or = async <T,>(p: Promise<T>, none: T): Promise<T> => {
    try {
      return await p
    } catch (e) {
      if (signal.aborted) throw e
      return none
    }
  }
  const over = Math.max(2, step)
  const [times, marks, running, waiting] = await Promise.all([
    get('states', { target, from, to, limit: 1000 }, signal).then((x) => x.times.map((t) => Date.parse(t) / 1000)),
    or(get('events', { target, from, to }, signal).then((x) => x.events), []),
    // Without Dyno's own session, as the figures above; with it where Dyno's part is unknown.
    or(range(`max(max_over_time(dyno_client_status{target=${label},variable="threads_running"}[${over}s])) or ` +
      `max(max_over_time(mysql_global_status_threads_running{target=${label}}[${over}s])) or ` +
      `max(max_over_time(dyno_sessions_running{target=${label}}[${over}s]))`), []),
    or(range(`sum(max_over_time(dyno_lock_waiters{target=${label}}[${over}s]))`), []),
  ])
  return { times, marks, running, waiting }
}

interface TimelineProps {
  target: string
  range: Range
  at: number | 'live'
  shown: number | undefined // when the state that is shown was read
  speed: number
  play: (speed: number) => void
  set: (to: number | 'live', o?: { replace?: boolean }) => void
  step: (by: number) => void
  loading: boolean
  up: boolean | undefined // whether the server answered in that second
}

const height = 60

/** The player and the timeline: which second is looked at. */
export function Timeline(p: TimelineProps) {
  const s = stretch(p.range.from, p.range.to, p.at)
  const width = s.to - s.from
  // A stretch that moves is read again when it moved by about a pixel.
  const grain = Math.max(2, Math.round(width / 300))
  const to = Math.ceil(s.to / grain) * grain
  const from = to - Math.ceil(width / grain) * grain
  const data = useData<Course>(`course\n${p.target}\n${from}\n${to}`, (signal) => course(p.target, from, to, signal),
    { keep: true })
  const c = data.value
  const live = p.at === 'live'
  const at = p.at === 'live' ? (p.shown ?? now()) : p.at
  return (
    <section class="panel player" aria-label="Timeline">
      <div class="player-row">
        <div class="row" role="group" aria-label="Play">
          <Button small icon="left" label="1 s back (←)" onClick={() => p.step(-1)} />
          <Button small icon="play" class="back" label="Rewind" pressed={p.speed < 0}
            onClick={() => p.play(p.speed < 0 ? p.speed : -10)} />
          <Button small icon={p.speed > 0 ? 'pause' : 'play'} label={p.speed > 0 ? 'Pause (Space)' : 'Play (Space)'}
            why={live ? 'Already live: step back first.' : ''} pressed={p.speed > 0}
            onClick={() => p.play(p.speed > 0 ? p.speed : 1)} />
          <Button small icon="right" label="1 s forward (→)" why={live ? 'Already live.' : ''}
            onClick={() => p.step(1)} />
        </div>
        <div class="row speeds" role="group" aria-label="Speed">
          {speeds.map((x) => (
            <Button key={x} small kind="quiet" label={`×${x}: ${x === 1 ? 'real time' : `${x} seconds per second`}`}
              pressed={Math.abs(p.speed) === x} why={live && p.speed >= 0 ? 'Step back or rewind first.' : ''}
              onClick={() => Math.abs(p.speed) !== x && p.play(p.speed < 0 ? -x : x)}>
              ×{x}
            </Button>
          ))}
        </div>
        <div class="player-at" aria-live="off">
          <b class="player-time">{moment(at, { seconds: true, date: Math.abs(now() - at) > 43200 })}</b>{' '}
          <span class="dim">{live ? 'now' : ago(at)}</span>
          {!live && p.shown !== undefined && at - p.shown >= 1.5 && !p.loading && (
            <span class="tone-warn" title="no states stored in between">
              {' '}
              state of {moment(p.shown, { seconds: true })}
            </span>
          )}
        </div>
        <span class="grow" />
        <Marks marks={c?.marks ?? []} set={p.set} />
        {live && p.up === false ? <span class="live-now down">server down</span>
          : live ? <span class="live-now"><span class="live-dot on" /> live</span>
          : <Button small kind="main" onClick={() => p.set('live', {})}>Back to now</Button>}
      </div>
      {data.error && (
        <p class="legend tone-bad" role="alert">
          Stored data for this time range could not be read: {safe(data.error.message)}
        </p>
      )}
      <Track {...p} from={s.from} to={s.to} course={c} playhead={at} />
      <Peaks c={c} from={s.from} to={s.to} />
    </section>
  )
}

/** The greatest figures of the stretch, in words: what the drawing shows. */
function Peaks({ c, from, to }: { c: Course | undefined; from: number; to: number }) {
  if (!c) return <p class="legend faint">&nbsp;</p>
  const top = (xs: [number, number][]) => xs.reduce((a, [t, v]) => (t >= from && t <= to ? Math.max(a, v) : a), 0)
  return (
    <p class="legend faint">
      <span><i class="key running" /> running, max {c.running.length === 0 ? '–' : count(top(c.running))}</span>
      <span>
        <i class="key waiting" /> waiting for a lock, max {c.waiting.length === 0 ? '–' : count(top(c.waiting))}
      </span>
      <span><i class="key mark" /> events</span>
      {c.times.length === 0 && <span class="tone-warn">no states in this time range</span>}
    </p>
  )
}

function Marks({ marks, set }: { marks: Mark[]; set: TimelineProps['set'] }) {
  if (marks.length === 0) return null
  return (
    <Menu label="Events" icon="flag" text={`${marks.length} ${marks.length === 1 ? 'event' : 'events'}`} align="right">
      {(close) => (
        <ul class="marks">
          {[...marks].reverse().slice(0, 200).map((m) => (
            <li key={m.id ?? m.at + m.text}>
              <button type="button" class="menu-item" onClick={() => {
                  set(Math.floor(Date.parse(m.at) / 1000), {})
                  close()
                }}>
                <span class="faint nowrap">{moment(Date.parse(m.at) / 1000, { seconds: true })}</span>
                <span class="nowrap">{safe(m.kind)}</span>
                <span class="cut">{safe(m.text)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </Menu>
  )
}

function Track(p: TimelineProps & { from: number; to: number; course: Course | undefined; playhead: number }) {
  const box = useRef<HTMLDivElement>(null)
  const [w, setW] = useState(1000)
  useLayoutEffect(() => {
    const el = box.current
    if (!el) return
    const seen = new ResizeObserver(() => setW(Math.max(100, el.clientWidth)))
    seen.observe(el)
    return () => seen.disconnect()
  }, [])
  const { from, to } = p
  const x = (t: number) => ((t - from) / (to - from)) * w
  const c = p.course
  const drawn = useMemo(() => {
    if (!c) return undefined
    const top = Math.max(1, ...c.running.map((v) => v[1]), ...c.waiting.map((v) => v[1]))
    const usual = Math.max(3, ((to - from) / 1000) * 3)
    return { marks: thinned(c.marks, from, to, w), running: area(c.running, from, to, w, top),
      waiting: area(c.waiting, from, to, w, top), gaps: gaps(c.times, from, Math.min(to, now() - 3), usual) }
  }, [c, from, to, w])
  const timeAt = (clientX: number): number | 'live' => {
    const r = box.current?.getBoundingClientRect()
    if (!r) return 'live'
    const share = Math.min(1, Math.max(0, (clientX - r.left) / r.width))
    const t = from + share * (to - from)
    if (t >= now() - (to - from) / w / 2 - 1) return 'live'
    // A place between kept moments means the nearest of them, unless they are thinned out.
    const n = c && c.times.length < 1000 ? nearest(c.times, t) : undefined
    return Math.floor(n !== undefined && Math.abs(n - t) < (to - from) / 20 ? n : t)
  }
  const dragging = useRef(false)
  const ticks = ticksOf(from, to, Math.max(2, Math.floor(w / 110)))
  return (
    <div ref={box} class="track" role="slider" tabIndex={0} aria-label="Time shown" aria-valuemin={Math.floor(from)}
      aria-valuemax={Math.ceil(to)} aria-valuenow={Math.round(Math.min(to, Math.max(from, p.playhead)))}
      aria-valuetext={`${moment(p.playhead, { seconds: true, date: true })}${p.at === 'live' ? ', now' : ''}`}
      onPointerDown={(e) => {
        if (e.button !== 0) return
        dragging.current = true
        e.currentTarget.setPointerCapture(e.pointerId)
        p.set(timeAt(e.clientX), {})
      }}
      onPointerMove={(e) => {
        if (dragging.current) p.set(timeAt(e.clientX), { replace: true })
      }}
      onPointerUp={() => (dragging.current = false)} onPointerCancel={() => (dragging.current = false)}>
      <svg width={w} height={height} aria-hidden="true" focusable="false">
        {drawn?.gaps.map((g) => (
          <rect key={g.from} class="gap" x={x(g.from)} y={0} width={Math.max(1, x(g.to) - x(g.from))}
            height={height - 14}>
            <title>no data</title>
          </rect>
        ))}
        {drawn && <path class="running" d={drawn.running} />}
        {drawn && <path class="waiting" d={drawn.waiting} />}
        <line class="floor" x1={0} x2={w} y1={height - 14} y2={height - 14} />
        {ticks.map((t) => (
          <g key={t}>
            <line class="tick" x1={x(t)} x2={x(t)} y1={height - 14} y2={height - 10} />
            <text x={x(t)} y={height - 1} text-anchor={x(t) < 24 ? 'start' : x(t) > w - 24 ? 'end' : 'middle'}>
              {moment(t, { date: to - from > 86400 })}
            </text>
          </g>
        ))}
        {drawn?.marks.map((m) => (
          <g key={m.x} class="mark">
            <line x1={m.x} x2={m.x} y1={0} y2={height - 14} />
            <path d={`M${m.x} 0h7l-2 3.500 2 3.500h-7z`} />
            <title>{m.title}</title>
          </g>
        ))}
        <line class="head" x1={x(p.playhead)} x2={x(p.playhead)} y1={0} y2={height - 14} />
        <circle class="head" cx={Math.min(w - 3, Math.max(3, x(p.playhead)))} cy={3.5} r={3.5} />
      </svg>
    </div>
  )
}

/** The marks of a stretch as they are drawn, at most one on a pixel: its title says how many it stands for. */
export function thinned(marks: Mark[], from: number, to: number, w: number): { x: number; title: string }[] {
  const by = new Map<number, { first: Mark; n: number }>()
  for (const m of marks) {
    const t = Date.parse(m.at) / 1000
    if (!(t >= from && t <= to)) continue
    const x = Math.round(((t - from) / (to - from)) * w)
    const there = by.get(x)
    if (there) there.n++
    else by.set(x, { first: m, n: 1 })
  }
  return [...by].map(([x, { first, n }]) =>
    ({ x, title: safe(`${first.kind}: ${first.text}`) + (n > 1 ? `, and ${n - 1} more` : '') }))
}

/** A stepped area over zero. Values further apart than usual leave a gap. */
export function area(values: [number, number][], from: number, to: number, w: number, top: number): string {
  const floor = height - 14
  const x = (t: number) => (((t - from) / (to - from)) * w).toFixed(1)
  const y = (v: number) => (floor - (v / top) * (floor - 8)).toFixed(1)
  let usual = Infinity
  for (let i = 1; i < values.length; i++) usual = Math.min(usual, (values[i]?.[0] ?? 0) - (values[i - 1]?.[0] ?? 0))
  if (!Number.isFinite(usual)) usual = 1
  let d = ''
  let last: number | undefined
  for (const [t, v] of values) {
    if (t < from - usual || t > to || !Number.isFinite(v)) continue
    const begin = t - usual // the greatest of the step before t
    if (last === undefined || begin - last > usual * 0.5) {
      if (last !== undefined) d += `V${floor}Z`
      d += `M${x(begin)} ${floor}`
    }
    d += `V${y(v)}H${x(t)}`
    last = t
  }
  return d === '' ? '' : d + `V${floor}Z`
}

/** Round moments of the browser's clock, at most n of them. */
export function ticksOf(from: number, to: number, n: number): number[] {
  const step = steps.find((s) => (to - from) / s <= n) ?? 604800
  const zone = -new Date(from * 1000).getTimezoneOffset() * 60
  const out: number[] = []
  for (let t = Math.ceil((from + zone) / step) * step - zone; t <= to && out.length < 50; t += step) out.push(t)
  return out
}

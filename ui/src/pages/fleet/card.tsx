import { ago, figure, href, moment, seconds, text } from '../../core'
import { Badge, safe, UpIcon } from '../../kit'
import { sparkPath } from '../../kit/small'
import { Finding } from './finding'
import type { Row } from './rows'

/** One server: all of the card leads to its page, what is in it to where it says. */
export function Card({ row: r, judging, minutes }: { row: Row; judging: boolean; minutes: number }) {
  const down = r.target.incidents?.find((i) => i.kind === 'down')
  return (
    <article class={`card${r.up === false ? ' card-down' : ''}`}>
      <header class="card-head">
        <UpIcon up={r.silent ? undefined : r.up} />
        <h2 class="cut"><a class="card-link" href={href('overview', { target: r.name })}>{safe(r.name)}</a></h2>
        <Limited row={r} />
        <span class="cut card-server">{safe(r.server || (r.target.address ?? ''))}</span>
      </header>
      <Incidents row={r} />
      {r.up === false || r.barred ? (
        <div class={`card-reason${r.barred ? ' tone-warn' : ''}`}>
          <p class="clamp3" title={safe(r.reason)}>{safe(r.reason)}</p>
          {r.fix && <p class="dim clamp3" title={safe(r.fix)}>{safe(r.fix)}</p>}
          {down && <p class="dim">Down since {moment(seconds(down.since), { seconds: true })} (
            {ago(seconds(down.since))})</p>}
        </div>
      ) : (
        <dl class="card-figures">
          <Item name="statements" v={r.qps} unit="/s" />
          <Item name="running" v={r.running} unit="" of={r.connected}
            about={r.connected === undefined ? '' : `of ${r.connected} sessions`} />
          <Item name="mean time" v={r.latency} unit="s"
            about={r.latency === undefined ? 'unavailable: the server’s figures of statements are off'
            : 'per statement, measured by the server'} />
          <Item name="CPU" v={r.cpu} unit="cores"
            about={r.cpu === undefined ? "only known where Dyno runs on the server's machine"
            : 'of the server process'} />
        </dl>
      )}
      {(r.up !== false || r.course?.some((v) => v !== null)) &&
        <Course values={r.course} minutes={minutes} name={r.name} />}
      <footer class="card-foot"><Finding row={r} judging={judging} /></footer>
      <Labels labels={r.target.labels} />
    </article>
  )
}

/** That its account may not read all that a diagnosis needs: no finding does not mean then that there is none. */
export function Limited({ row: r }: { row: Row }) {
  const d = r.target.denied
  if (!d || r.up !== true) return null
  return <Badge tone="warn" icon={false} title={safe(`its account may not see: ${d.sources.join(', ')}`)}>limited access
  </Badge>
}

/** What goes wrong on it now; that it is down is said elsewhere. */
export function Incidents({ row: r }: { row: Row }) {
  const all = (r.target.incidents ?? []).filter((i) => i.kind !== 'down')
  if (all.length === 0 || r.up !== true) return null
  return (
    <ul class="incidents">
      {all.map((i) => (
        <li key={i.id}>
          <a class="incident" title={safe(i.text)} href={href('activity', { target: r.name }, [])}>
            <Badge tone="bad" icon="warn">{safe(i.title)}</Badge>
            <span class="clamp3">{safe(i.text.startsWith(i.title + ': ') ? i.text.slice(i.title.length + 2) : i.text)}
            </span>
            <span class="faint nowrap">{ago(seconds(i.since))}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}

function Item(p: { name: string; v: number | undefined; unit: string; of?: number | undefined; about?: string }) {
  const f = figure(p.v, p.unit)
  return (
    <div title={p.about || undefined}>
      <dt>{p.name}</dt>
      <dd class={p.v === undefined ? 'faint' : ''}>
        {f.value}
        {p.v !== undefined && p.of !== undefined && <span class="unit">/ {p.of}</span>}
        {f.unit && <span class="unit">{f.unit}</span>}
      </dd>
    </div>
  )
}

/** Statements a second of the last minutes, over zero, with their highest. */
function Course({ values, minutes, name }: { values: (number | null)[] | undefined; minutes: number; name: string }) {
  const known = values?.filter((v): v is number => v !== null) ?? []
  const top = known.reduce((a, b) => Math.max(a, b), 0)
  const label =
    `statements per second of ${safe(name)} over ${minutes} minutes: ` +
      `${known.length === 0 ? 'unknown' : `max ${text(top, '/s')}, last ${text(known[known.length - 1], '/s')}`}`
  const w = 300
  const h = 48
  const d = known.length > 0 ? sparkPath(values ?? [], w, h) : undefined
  return (
    <figure class="course">
      <svg role="img" aria-label={label} viewBox={`0 0 ${w} ${h}`} preserveAspectRatio="none">
        {d && <path class="spark-area" d={d.area} />}
        {d && <path class="spark-line" d={d.line} />}
        {d && <path class="spark-dot" d={d.dots} />}
        <path class="course-ground" d={`M0 ${h - 0.5}H${w}`} />
      </svg>
      <figcaption aria-hidden="true">
        <span>{minutes} min ago</span>
        <span>{known.length === 0 ? 'no data' : `max ${text(top, '/s')}`}</span>
        <span>now</span>
      </figcaption>
    </figure>
  )
}

export function Labels({ labels }: { labels: Record<string, string> | undefined }) {
  const all = Object.entries(labels ?? {})
  if (all.length === 0) return null
  return (
    <ul class="labels">
      {all.map(([k, v]) => (
        <li key={k}>
          <a href={href('fleet', { q: `${k}=${v}` }, [])} title={safe(`servers with ${k}=${v}`)}>
            <span class="faint">{safe(k)}=</span>
            {safe(v)}
          </a>
        </li>
      ))}
    </ul>
  )
}

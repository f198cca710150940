// Evidence, gain and classes as pictures.
import { figure, href, text, useGet, type Data, type Params } from '../../core'
import { Bar, Icon, Num, Spark, Sql, Term, safe } from '../../kit'
import { bullet, decadeAbove, onDecades } from './bullet'
import { beyond, courseIn, type Courses } from './course'
import type { Class as QueryClass, DiagnosisDetail, Evidence, Finding } from '../../core/openapi.gen'

/** One fact: its value as a bar against what would be expected, and the sentence that says so. */
export function Fact({ e }: { e: Evidence }) {
  const b = bullet(e)
  const f = figure(e.value, e.unit ?? '')
  const label = `${safe(e.what)}: ${text(e.value, e.unit ?? '')}${e.expected ? `, expected ${e.expected}` : ''}`
  return (
    <li class="fact">
      <div class="fact-head">
        <span class="fact-what">
          {safe(e.what)}
          {e.sampled && (
            <span class="fact-tag"><Term about="estimated from samples, not counted">estimated</Term></span>
          )}
        </span>
        {e.value !== undefined && (
          <span class="fact-value">{f.value}{f.unit && <span class="unit">{f.unit}</span>}</span>
        )}
      </div>
      {b && (
        <div class="bullet" role="img" aria-label={label}>
          {b.bound !== undefined && (b.sign === '≥' || b.sign === '>'
            ? <span class="bullet-fine" style={{ left: `${b.bound * 100}%`, right: '0' }} />
            : <span class="bullet-fine" style={{ left: '0', width: `${b.bound * 100}%` }} />)}
          <span class={`bullet-value${b.beyond ? ' beyond' : ''}`}
            style={{ width: `${b.value === 0 ? 0 : Math.max(0.6, b.value * 100)}%` }} />
          {b.bound !== undefined && <span class="bullet-bound" style={{ left: `${b.bound * 100}%` }} />}
        </div>
      )}
      <div class="fact-foot">
        <span class="fact-text">{safe(e.text)}</span>
        <span class="faint nowrap">{e.expected && <>expected {e.expected}</>}{b?.log && ' · log scale'}</span>
      </div>
    </li>
  )
}

/** What the change would bring, as a range of factors: never one figure. */
export function Gain({ gain }: { gain: NonNullable<Finding['gain']> }) {
  const top = decadeAbove(gain.hi)
  const lo = onDecades(gain.lo, top)
  const hi = onDecades(gain.hi, top)
  const n = (x: number) => (x >= 10 ? String(Math.round(x)) : String(Number(x.toFixed(1))))
  const marks: number[] = []
  for (let x = 1; x <= top; x *= 10) marks.push(x)
  return (
    <div class="gain">
      <div class="gain-head"><b>×{n(gain.lo)} to ×{n(gain.hi)}</b><span class="dim">{safe(gain.what)}</span></div>
      <div class="gain-scale" role="img"
        aria-label={`expected gain between ${n(gain.lo)} and ${n(gain.hi)} times, ${safe(gain.what)}`}>
        <span class="gain-range" style={{ left: `${lo * 100}%`, width: `${Math.max(1.5, (hi - lo) * 100)}%` }} />
        {marks.map((m) => (
          <span key={m} class="gain-mark" style={{ left: `${onDecades(m, top) * 100}%` }}>×{m}</span>
        ))}
      </div>
      <p class="dim">{safe(gain.text)}</p>
    </div>
  )
}

/** A class that a finding is about: what it did in the window, and its last hour or why there is none. */
export function ClassCard(
  { of, c, hour, all: most }: { of: DiagnosisDetail; c: QueryClass; hour: Params; all: Data<Courses> },
) {
  // One that is not among those with most time is asked for by itself.
  const own = useGet(beyond(most.value, c.id) ? 'classes' : null, { ...hour, limit: 10, search: c.id })
  const one = beyond(most.value, c.id) ? own : most
  const course = courseIn(one.value, c.id, one.loading)
  const window = of.time.seconds || 1
  const all = of.time.statement_seconds
  const each = (v: number | undefined) => (c.count > 0 && v !== undefined ? v / c.count : null)
  const least = c.sampled ? ', at least' : '' // what was running was looked at: there were more, and none was over
  const figures: [string, number | null, string][] = [
    [`calls${least}`, c.count / window, '/s'],
    ['time per call', c.sampled ? null : each(c.time_sec), 's'],
    [`rows read per call${least}`, each(c.rows_examined), ''],
    [`rows sent per call${least}`, each(c.rows_sent), ''],
    ['share of statement time', all > 0 ? c.time_sec / all : null, 'ratio'],
  ]
  return (
    <div class="class-card">
      <Sql text={c.fingerprint} lines={4} />
      <dl class="class-figures">
        {figures.map(([name, v, unit]) => <div key={name}><dt>{name}</dt><dd><Num v={v} unit={unit} /></dd></div>)}
      </dl>
      <div class="class-course">
        {typeof course === 'string' ? <span class="faint">{course}</span>
          : <Spark values={course} unit="s/s" label="time per second, last hour" width={220} height={28} />}
        <a href={href('queries', { target: of.target, class: c.id, from: null, to: null }, [])}>
          In Queries <Icon name="right" size={12} />
        </a>
      </div>
    </div>
  )
}

/** A share of the server's statement time. */
export function Share({ share }: { share: number }) {
  return (
    <span class="finding-share nowrap"
      title="share of the server's statement time in the window that the change can save">
      <Bar share={share} label="share of the statement time" width={96} />
      <span>{share >= 0.0005 ? figure(share, 'ratio').value : '0'}<span class="unit">%</span></span>
    </span>
  )
}

// A proof on windows of live traffic: the verdict, its interval as a bar, and the course around the change.
import { text } from '../../core'
import { count, ratio } from '../../core/format'
import { Badge, Icon, safe, Sql, type Tone } from '../../kit'
import type { ClassOutcome, Interval, Live, Outcome } from '../../core/openapi.gen'

export const verdicts: Record<Outcome['result'], [Tone, string]> = {
  better: ['good', 'Better'],
  worse: ['bad', 'Worse'],
  same: ['info', 'Same'],
  unstable: ['warn', 'Unstable'],
  invalid: ['unknown', 'Invalid'],
}

export function LiveView({ p, sentence }: { p: Live; sentence: string }) {
  const [tone, word] = verdicts[p.result]
  const rows: Row[] = [{ name: p.about, of: p.ratio, tone }]
  const classes = p.classes ?? []
  if (classes.length > 1) {
    for (const c of classes.slice(0, 8)) {
      rows.push({ name: c.fingerprint, of: c.ratio, tone: verdicts[c.result][0], sql: true })
    }
  }
  if (p.about !== 'all classes') rows.push({ name: 'all classes', of: p.whole.ratio, tone: verdicts[p.whole.result][0] })
  if (p.earlier_days) rows.push({ name: 'same hours of earlier days', of: p.earlier_days, tone: 'info' })
  const g = p.expected
  if (g && p.compared && g.lo > 0 && g.hi >= g.lo) {
    rows.push({ name: 'expected by the finding', tone: 'unknown', expected: true,
      of: { center: g.lo, lo: g.lo, hi: g.hi, n: 1, confidence: 1 } })
  }
  return (
    <div class="stack">
      <p class="proof-verdict"><Badge tone={tone}>{word}</Badge><span>{safe(sentence)}</span></p>
      <Bars rows={rows.filter((r) => r.of.n > 0)} />
      {classes.slice(0, 3).map((c) => <Course key={c.class + (c.schema ?? '')} c={c} change={Date.parse(p.change)} />)}
      {[...(p.reasons ?? []), ...(p.notes ?? [])].map((w, i) => (
        <p key={i} class="dim proof-warning"><Icon name="warn" size={13} /> {safe(w)}</p>
      ))}
      <p class="faint">
        Time per call before ÷ after, for the mix of calls before; above ×1 is faster, within ±5 % counts as the same.
        Windows: {count(p.before.windows)} before ({text(p.before.seconds, 's')}), {count(p.after.windows)} after (
        {text(p.after.seconds, 's')}). n is how many independent windows they count as.
      </p>
    </div>
  )
}

interface Row {
  name: string
  of: Interval
  tone: Tone
  sql?: boolean
  expected?: boolean
}

/** Bars draws ratios with their intervals on one logarithmic axis. */
function Bars({ rows }: { rows: Row[] }) {
  if (rows.length === 0) return null
  const lo = Math.min(0.9, ...rows.map((r) => r.of.lo)) / 1.05
  const hi = Math.max(1.1, ...rows.map((r) => r.of.hi)) * 1.05
  const at = (v: number) => 100 * Math.log(v / lo) / Math.log(hi / lo)
  return (
    <div class="live-bars" role="list" aria-label="Ratios with their intervals">
      {rows.map((r, i) => (
        <div key={i} role="listitem" class="live-row">
          {r.sql ? <Sql text={r.name} lines={1} /> : <span class="cut">{safe(r.name)}</span>}
          <span class="live-axis" aria-hidden="true">
            <i class="live-one" style={{ left: at(1) + '%' }} />
            <i class={'live-bar tone-' + r.tone} style={{ left: at(r.of.lo) + '%', width: at(r.of.hi) - at(r.of.lo) + '%' }} />
            {!r.expected && <i class={'live-dot tone-' + r.tone} style={{ left: at(r.of.center) + '%' }} />}
          </span>
          <span class="nowrap">
            {r.expected ? `${ratio(r.of.lo)} to ${ratio(r.of.hi)}`
              : `${ratio(r.of.center)} (${Math.round(1000 * (r.of.confidence ?? 0.95)) / 10} %: ${ratio(r.of.lo)} to ${
                ratio(r.of.hi)}), n=${r.of.n}`}
          </span>
        </div>
      ))}
    </div>
  )
}

const width = 600, height = 90

/** Course draws the mean time of a class's calls, window by window, with the moment of the change. */
function Course({ c, change }: { c: ClassOutcome; change: number }) {
  const points = c.course ?? []
  if (points.length < 2) return null
  const t = points.map((p) => Date.parse(p.at)), top = Math.max(...points.map((p) => p.mean_s))
  const first = Math.min(...t, change), last = Math.max(...t, change)
  const x = (v: number) => 4 + (width - 8) * (v - first) / Math.max(1, last - first)
  const y = (v: number) => height - 4 - (height - 8) * v / (top || 1)
  const line = (side: (v: number) => boolean) =>
    points.map((p, i) => ({ p, at: t[i]! })).filter((q) => side(q.at))
      .map((q) => `${x(q.at).toFixed(1)},${y(q.p.mean_s).toFixed(1)}`).join(' ')
  return (
    <figure class="live-course">
      <figcaption class="dim"><Sql text={c.fingerprint} lines={1} /></figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" preserveAspectRatio="none"
        aria-label={`Time per call, ${text(c.mean_before_s, 's')} before and ${text(c.mean_after_s, 's')} after`}>
        <line class="live-change" x1={x(change)} x2={x(change)} y1="0" y2={height} />
        <polyline points={line((v) => v <= change)} />
        <polyline points={line((v) => v > change)} />
      </svg>
      <p class="faint">
        Time per call, 0 to {text(top, 's')}; the dashed line is the change. Mean {text(c.mean_before_s, 's')} before,{' '}
        {text(c.mean_after_s, 's')} after; {count(c.calls_before)} and {count(c.calls_after)} calls.
      </p>
    </figure>
  )
}

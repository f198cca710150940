import { useEffect, useMemo, useState } from 'preact/hooks'
import { get, go, moment, now, ratio, route, setParams, span, text, useData, useParam, useRange,
  withParams } from '../../core'
import { Badge, Button, Empty, Notice, Num, parseTyped, safe, Search, Show, Table, type Column,
  type Tone } from '../../kit'
import { typed } from '../../kit/pickers'
import { hasWords } from './figures'
import { Load, oneLine } from './list'
import { before, halves, presets, type Period } from './periods'
import type { PeriodClass as Compared, PeriodComparison as Comparison,
  PeriodSide as Side } from '../../core/openapi.gen'

const words: Record<Compared['change'],
  { tone: Tone; text: string; icon?: 'up' | 'down' | 'plus' | 'minus' | 'check' }> = {
  slower: { tone: 'bad', text: 'slower', icon: 'up' },
  faster: { tone: 'good', text: 'faster', icon: 'down' },
  appeared: { tone: 'info', text: 'new', icon: 'plus' },
  vanished: { tone: 'unknown', text: 'gone', icon: 'minus' },
  same: { tone: 'unknown', text: 'same', icon: 'check' },
  unclear: { tone: 'unknown', text: 'unclear' },
}

const verdicts: Record<Comparison['result'], { tone: Tone; text: string }> = {
  worse: { tone: 'bad', text: 'Worse than before' },
  better: { tone: 'good', text: 'Better than before' },
  same: { tone: 'good', text: 'The same as before' },
  unstable: { tone: 'warn', text: 'Unclear: too much noise between minutes' },
  invalid: { tone: 'warn', text: 'The periods cannot be compared' },
}

/** Two periods side by side. */
export function Compare({ target }: { target: string }) {
  const [range] = useRange()
  const [preset] = useParam('before', '')
  const [beforeFrom] = useParam('before_from')
  const [beforeTo] = useParam('before_to')
  const [q] = useParam('q')
  const [top, setTop] = useParam('top', '200')
  const limit = Math.min(1000, Math.max(1, Number(top) || 200))
  const after: Period = { from: Math.floor(range.from), to: Math.ceil(range.to) }
  const old = before(after, preset, beforeFrom, beforeTo)
  const key = old && `compare\n${target}\n${range.key}\n${preset}\n${beforeFrom}\n${beforeTo}\n${limit}`
  const data = useData<Comparison>(key ?? null, (signal) =>
      get('compare-classes', { target, from: after.from, to: after.to, before_from: old?.from, before_to: old?.to,
      limit }, signal),
    { every: range.live ? 60_000 : 0, keep: true })
  const blank = data.value?.before.coverage.seconds === 0
  const kept = data.value?.after.coverage
  useEffect(() => {
    if (preset !== 'previous' || !blank || !kept?.from || !kept.to) return
    const h = halves(Date.parse(kept.from) / 1000, Date.parse(kept.to) / 1000)
    if (h)
      setParams({ before: 'halves', before_from: h.before.from, before_to: h.before.to, from: h.after.from,
      to: h.after.to }, { replace: true })
  }, [preset, blank, kept?.from, kept?.to])
  const found = useMemo(() => (data.value?.classes ?? []).filter((c) => hasWords(q, c.id, c.fingerprint)),
    [data.value, q])
  // The window moves each second, the rows do not: see List.
  const here = route.value
  const rows = useMemo(() => <Rows list={found} />, [found, here])
  return (
    <>
      <Periods after={after} old={old} preset={beforeFrom !== '' ? '' : preset} text={range.text}
        halves={preset === 'halves'} />
      {!old ? (
        <Empty icon="calendar" title="Invalid comparison period"
          hint="The period in the address does not end after it begins. Choose another one above." />
      ) : (
        <Show of={data} lines={10} what="Comparison">
          {(v) => {
            const seen = verdicts[v.result]
            return (
              <>
                {preset === 'halves' && <Notice tone="info">
                  No data for the previous period: comparing the two halves of the available data.</Notice>}
                <div class="verdict">
                  <Badge tone={seen.tone}>{seen.text}</Badge>
                  {v.reasons?.map((r) => <span key={r} class="dim">
                    {safe(r.replace('B’s', 'the later period’s').replace("B's", "the later period's").replace(
                    ' that A has not', ' that did not run before'))}.</span>)}
                </div>
                {v.notes?.map((n) => <Notice key={n} tone="warn">{safe(n.charAt(0).toUpperCase() + n.slice(1))}
                  .</Notice>)}
                <div class="sides">
                  <OneSide name="Before" s={v.before} />
                  <OneSide name="After" s={v.after} other={v.before} />
                </div>
                {v.before.coverage.seconds === 0 || v.after.coverage.seconds === 0 ? (
                  <Empty icon="calendar" title="Nothing to compare"
                    hint={`No data for the ${v.before.coverage.seconds === 0 ? 'earlier' : 'later'} period. ` +
                      `Choose another one above.`} />
                ) : (
                  <>
                  <div class="filters">
                    <Search label="Find a class" placeholder="statement, id" />
                    <span class="faint grow num">
                      {v.total > v.classes.length
                        ? `${q !== '' ? `${found.length} of ` : ''}the ${v.classes.length} whose load changed ` +
                          `most of ${v.total} ` +
                            `classes${q !== '' ? '; the others were not searched' : ''}` : `${found.length} ` +
                              `${found.length === 1 ? 'class' : 'classes'}, largest change in load first`}
                    </span>
                    {v.total > v.classes.length && limit < 1000 &&
                      <Button small onClick={() => setTop('1000')}>Show {Math.min(1000, v.total)}</Button>}
                  </div>
                    {rows}
                  </>
                )}
              </>
            )
          }}
        </Show>
      )}
    </>
  )
}

function Rows({ list }: { list: Compared[] }) {
  const columns = useMemo<Column<Compared>[]>(
    () => ([
      { key: 'change', head: 'Change',
        title: 'change in mean time per execution, where it exceeds the noise between minutes',
        value: (c) => words[c.change].text,
        cell: (c) => <Badge tone={words[c.change].tone} icon={words[c.change].icon ?? 'unknown'} title={c.reason}>
        {words[c.change].text}</Badge> },
      { key: 'delta', head: 'Load change', align: 'right', value: (c) => Math.abs(c.load_change),
        title: 'change in load: statement time per second, after − before',
        cell: (c) =>
        <b class={!c.before || !c.after || c.change === 'unclear' ? ''
        : c.load_change > 0.0005 ? 'tone-bad' : c.load_change < -0.0005 ? 'tone-good' : ''}>
        {Math.abs(c.load_change) < 0.0005 ? <span class="faint">±0</span>
        : <>{c.load_change > 0 ? '+' : '−'}<Num v={Math.abs(c.load_change)} unit="" /></>}</b> },
      { key: 'loads', head: 'Before → after', align: 'right', value: (c) => c.after?.load,
        cell: (c) => <span class="nowrap dim"><Load v={c.before?.load} /> → <Load v={c.after?.load} /></span> },
      { key: 'statement', head: 'Statement', lead: true, class: 'statement', value: (c) => c.fingerprint,
        cell: (c) => <a class="mono" href={withParams({ class: c.id })}>{oneLine(c.fingerprint)}</a> },
      { key: 'mean', head: 'Mean time', align: 'right', value: (c) => c.mean?.center ?? c.mean_ratio,
        title: 'after ÷ before, with an interval that allows for the noise between minutes',
        cell: (c) =>
        <span class="nowrap"
        title={c.before && c.after ? `${text(c.before.mean_sec, 's')} → ${text(c.after.mean_sec, 's')}` : undefined}>
        {c.mean ? ratio(c.mean.center, c.mean.lo, c.mean.hi) : ratio(c.mean_ratio)}</span> },
      { key: 'calls', head: 'Calls', align: 'right', value: (c) => c.calls_ratio,
        title: 'calls per second, after ÷ before',
        cell: (c) => <span class="nowrap" title={`${text(c.before?.per_sec, '/s')} → ${text(c.after?.per_sec, '/s')}`}>
        {ratio(c.calls_ratio)}</span> },
      { key: 'examined', head: 'Examined/call', align: 'right', value: (c) => c.examined_ratio,
        title: 'rows examined per call, after ÷ before: plan changes show here',
        cell: (c) =>
        <span class="nowrap"
        title={`${text(c.before?.examined_per_call, '')} → ${text(c.after?.examined_per_call, '')} rows`}>
        {ratio(c.examined_ratio)}</span> },
      { key: 'p95', head: 'p95', align: 'right', value: (c) => c.p95_ratio,
        title: '95th percentile, after ÷ before; available where a period is one reading',
        cell: (c) => ratio(c.p95_ratio) },
    ] satisfies Column<Compared>[]).filter((c) => c.key !== 'p95' || list.some((x) => x.p95_ratio !== undefined)),
    [list])
  return <Table label="Classes of both periods" columns={columns} rows={list} rowKey={(c) => c.id}
    onOpen={(c) => go(withParams({ class: c.id }))} sortParam="csort" sort="-delta"
    empty={<Empty icon="queries" title="No statements in either period" />} />
}

function OneSide({ name, s, other }: { name: string; s: Side; other?: Side }) {
  const asked = (Date.parse(s.to) - Date.parse(s.from)) / 1000
  return (
    <div class="panel side">
      <div class="row">
        <b>{name}</b>
        <span class="dim">{moment(Date.parse(s.from) / 1000, { date: true, seconds: false })} – {moment(
          Date.parse(s.to) / 1000, { date: asked > 43200, seconds: false })}</span>
      </div>
      <div class="side-figures">
        <span>load <b>{text(s.coverage.seconds > 0 ? s.load : undefined, '')}</b>
          {other && other.load > 0 && s.coverage.seconds > 0 &&
          <span class="faint"> {ratio(s.load / other.load)}</span>}</span>
        <span><b>{text(s.coverage.seconds > 0 ? s.per_sec : undefined, '')}</b> statements/s</span>
        <span>{s.coverage.classes} classes</span>
        <span class={s.coverage.seconds < asked * 0.9 - 65 ? 'tone-warn' : 'faint'}>
          data covers {span(s.coverage.seconds)} of {span(asked)}</span>
      </div>
    </div>
  )
}

function Periods(
  { after, old, preset, text: name,
  halves }: { after: Period; old: Period | undefined; preset: string; text: string; halves: boolean }) {
  const [open, setOpen] = useState(false)
  return (
    <section class="periods" aria-label="Comparison period">
      <span class="dim">Compare {name.startsWith('last') ? `the ${name}` : name} with</span>
      {presets.map((p) => (
        <Button key={p.key} small pressed={preset === p.key} label={`${p.short}: ${p.name}`} onClick={() =>
          setParams({ before: p.key, before_from: null, before_to: null,
          ...(halves ? { from: null, to: null } : {}) })}>
          {p.short}
        </Button>
      ))}
      <Button small pressed={preset === '' || open} onClick={() => setOpen(!open)}>Custom…</Button>
      {old &&
        <span class="faint">
        {moment(old.from, { date: true, seconds: false })} – {moment(
        old.to, { date: old.to - old.from > 43200, seconds: false })}</span>}
      {(open || !old) &&
        <Own old={old ?? { from: 2 * after.from - after.to, to: after.from }} done={() => setOpen(false)} />}
    </section>
  )
}

function Own({ old, done }: { old: Period; done: () => void }) {
  const [from, setFrom] = useState(typed(old.from))
  const [to, setTo] = useState(typed(old.to))
  const a = parseTyped(from, now())
  const b = parseTyped(to, now())
  const wrong = !(b > a)
  return (
    <form class="row wrap own" onSubmit={(e) => {
        e.preventDefault()
        if (wrong) return
        setParams({ before: null, before_from: Math.round(a), before_to: Math.round(b) })
        done()
      }}>
      <input class="input" aria-label="Start of the comparison period" value={from} aria-invalid={Number.isNaN(a)}
        onInput={(e) => setFrom(e.currentTarget.value)} />
      <span class="dim">to</span>
      <input class="input" aria-label="End of the comparison period" value={to} aria-invalid={wrong}
        onInput={(e) => setTo(e.currentTarget.value)} />
      <Button small submit disabled={wrong}>Compare</Button>
      {wrong && <span class="faint">such as 2026-11-03 12:00, 12:00, -2h</span>}
    </form>
  )
}

// The statements that take most time, next to the graphs: the list itself is on Queries.
import { get, href, text, useData, useRange } from '../../core'
import type { ClassRow as Class } from '../../core/openapi.gen'
import { Bar, Num, Table, safe, type Column } from '../../kit'

const shown = 5

/** The classes with most time of the window. Without any it says nothing: Queries says why. */
export function TopQueries({ target }: { target: string }) {
  const [range] = useRange()
  const data = useData(`top\n${target}\n${range.key}`,
    (signal) => get('classes', { target, from: Math.floor(range.from), to: Math.ceil(range.to), limit: shown }, signal),
    { every: range.live ? 15_000 : 0, keep: true })
  const v = data.value
  const seconds = v?.coverage.observed_seconds ?? 0
  if (!v || v.classes.length === 0 || seconds <= 0) return null
  const share = (c: Class) => ((v.coverage.time_sec ?? 0) > 0 ? c.time_sec / (v.coverage.time_sec ?? 1) : undefined)
  const columns: Column<Class>[] = [
    { key: 'share', head: 'Share', width: 116, title: 'share of the time of all statements',
      cell: (c) => <span class="row nowrap"><Bar share={share(c)} width={56} /> {text(share(c), 'ratio')}</span> },
    { key: 'statement', head: 'Statement', class: 'statement', lead: true,
      cell: (c) => <a class="mono" href={href('queries', { class: c.id })}>
      {safe(c.fingerprint.slice(0, 300)).replace(/\s+/g, ' ').trim() || c.id}</a> },
    { key: 'load', head: 'Load', align: 'right', title: 'statement time per second: average number running at once',
      cell: (c) => <Num v={c.time_sec / seconds} unit="" /> },
    { key: 'calls', head: 'Calls/s', align: 'right',
      cell: (c) => <span class="nowrap">{c.sampled ? '≥ ' : ''}<Num v={c.count / seconds} unit="" /></span> },
    { key: 'mean', head: 'Mean', align: 'right',
      cell: (c) => <Num v={c.sampled || c.count === 0 ? undefined : c.time_sec / c.count} unit="s" /> },
  ]
  return (
    <section class="sv-top" aria-label="Top queries">
      <h3>Top queries <a href={href('queries')}>All queries</a></h3>
      <Table label="Top queries" columns={columns} rows={v.classes}
        rowKey={(c) => c.id + (c.schema ?? '') + String(c.sampled ?? false)} sortParam="top" />
    </section>
  )
}

// What went wrong with a server: the list of its incidents, and one of them.
import { useEffect, useMemo } from 'preact/hooks'
import { ago, get, href, moment, onStream, seconds, span, text, useData, useParam, withParams,
  type Data } from '../../core'
import type { ClassRow, Incident, IncidentFull, IncidentList } from '../../core/openapi.gen'
import type { Mark } from '../../graph'
import { Badge, Bar, Button, Crumb, Icon, Loading, Num, Problem, ReportLink, safe, Table, type Column } from '../../kit'

const shown = 5

/** The incidents of a server in the last 30 days, newest first. */
export function useIncidents(target: string): Data<IncidentList> {
  const d = useData<IncidentList>(target === '' ? null : `incidents ${target}`,
    (signal) => get('incidents', { target, from: '-30d', limit: 200 }, signal), { every: 15_000 })
  const reload = d.reload
  useEffect(() => onStream('event', (e) => {
    // Incidents are stored a moment after the events of their conditions.
    if ((e as { target?: string }).target === target) setTimeout(reload, 2500)
  }), [target, reload])
  return d
}

/** The part of incidents that events do not mark: those that a finding began, and the one that is open on the page. */
export function marksOf(list: Incident[] | undefined, id: string): Mark[] {
  return (list ?? []).filter((i) => i.conditions.length === 0 || i.id === id).map((i) => ({
    id: i.id, at: seconds(i.from), until: seconds(i.to), kind: 'incident', text: safe(i.title),
  }))
}

/** The address of an incident: the graphs around its time. */
export function incidentLink(i: Incident): string {
  const from = seconds(i.from)
  const to = seconds(i.to)
  const around = Math.max(120, 0.25 * (to - from))
  return href('overview', {
    incident: i.id, from: Math.floor(from - around), to: i.open ? null : Math.ceil(to + around), panel: null,
  })
}

function lasting(i: Incident): string {
  const s = span(Math.max(1, Math.round(seconds(i.to) - seconds(i.from))))
  return i.cut ? `at least ${s}` : s
}

function Severity({ of }: { of: string }) {
  return <Badge tone={of === 'critical' ? 'bad' : of === 'warning' ? 'warn' : 'info'}>{safe(of)}</Badge>
}

const columns: Column<Incident>[] = [
  { key: 'when', head: 'Began', width: 150, value: (i) => seconds(i.from),
    cell: (i) => <span class="nowrap" title={ago(seconds(i.from))}>
      {moment(seconds(i.from), { date: true, seconds: true })}</span> },
  { key: 'lasted', head: 'Duration', align: 'right', width: 120, value: (i) => seconds(i.to) - seconds(i.from),
    cell: (i) => <span class="nowrap">{i.open ? <Badge tone="bad">open, {lasting(i)}</Badge> : lasting(i)}</span> },
  { key: 'severity', head: 'Severity', width: 110, cell: (i) => <Severity of={i.severity} /> },
  { key: 'what', head: 'Incident', lead: true,
    cell: (i) => <a href={incidentLink(i)} title={safe(i.conditions.map((c) => c.text).join('; '))}>{safe(i.title)}</a> },
  { key: 'finding', head: 'Worst finding',
    cell: (i) => {
      const f = i.findings[0]
      return f === undefined ? <span class="faint">none</span>
        : <a href={href('findings', { diagnosis: f.diagnosis, finding: f.id, from: null, to: null })}>{safe(f.title)}</a>
    } },
]

/** The first thing of the page. */
export function Incidents({ of }: { of: Data<IncidentList> }) {
  const [all, setAll] = useParam('incidents')
  const v = of.value
  if (!v) return of.error ? <Problem error={of.error} retry={of.reload} what="Incidents" /> : <Loading lines={1} />
  const since = seconds(v.watched_since)
  if (v.incidents.length === 0) {
    return (
      <p class="sv-quiet sv-no-incident">
        <Icon name="good" size={13} />
        <span>
          {Number.isNaN(since) ? 'No incidents.'
            : `No incidents in the last 30 days. Watched since ${moment(since, { date: true })}.`}
        </span>
      </p>
    )
  }
  const list = all === 'all' ? v.incidents : v.incidents.slice(0, shown)
  const more = v.incidents.length - list.length
  return (
    <section class="sv-group sv-incidents" aria-label="Incidents">
      <h2>Incidents <span class="dim">last 30 days</span></h2>
      <Table label="Incidents" columns={columns} rows={list} rowKey={(i) => i.id} sortParam="incident_sort"
        rowClass={(i) => (i.open ? 'sv-incident-open' : '')} />
      {more > 0 && <Button small kind="quiet" onClick={() => setAll('all')}>
        {v.truncated ? 'Show older' : `Show ${more} older`}</Button>}
    </section>
  )
}

const classColumns: Column<ClassRow>[] = [
  { key: 'statement', head: 'Statement', class: 'statement', lead: true,
    cell: (c) => <a class="mono" href={href('queries', { class: c.id })}>
      {safe(c.fingerprint.slice(0, 300)).replace(/\s+/g, ' ').trim() || c.id}</a> },
  { key: 'time', head: 'Time', align: 'right', value: (c) => c.time_sec, cell: (c) => <Num v={c.time_sec} unit="s" /> },
  { key: 'calls', head: 'Calls', align: 'right', value: (c) => c.count, cell: (c) => <Num v={c.count} unit="" /> },
  { key: 'mean', head: 'Mean', align: 'right',
    cell: (c) => <Num v={c.sampled || c.count === 0 ? undefined : c.time_sec / c.count} unit="s" /> },
]

/** One incident above the graphs of its time. */
export function OneIncident({ id }: { id: string }) {
  const d = useData<IncidentFull>(`incident ${id}`, (signal) => get('incident', { id }, signal),
    { every: 15_000 })
  const back = <Crumb href={withParams({ incident: null, from: null, to: null })}>All incidents</Crumb>
  const v = d.value
  if (!v) return <>{back}{d.error ? <Problem error={d.error} retry={d.reload} what="Incident" /> : <Loading lines={4} />}</>
  return (
    <section class="sv-incident panel" aria-label="Incident">
      {back}
      <header class="row wrap">
        <h2>{safe(v.title)}</h2>
        <Severity of={v.severity} />
        {v.open && <Badge tone="bad">open</Badge>}
      </header>
      <p>
        {moment(seconds(v.from), { date: true, seconds: true })} – {v.open ? 'now'
          : moment(seconds(v.to), { seconds: true })}
        <span class="dim"> · {lasting(v)}{v.cut && ': its end was not observed, Dyno stopped watching'}</span>
      </p>
      {v.conditions.length > 0 && (
        <ul class="sv-conditions" aria-label="Conditions">
          {v.conditions.map((c) => (
            <li key={c.kind}><span class="sv-happened-at">{moment(seconds(c.from), { seconds: true })}</span>
              <span>{safe(c.text)}{c.open && <b> · ongoing</b>}</span></li>
          ))}
        </ul>
      )}
      <div class="sv-halves">
        <div>
          <h3>Findings</h3>
          {v.findings.length === 0 ? (
            <p class="dim">{v.diagnoses.length === 0 ? 'No diagnosis covers this time.'
              : 'No findings in the diagnoses of this time.'}</p>
          ) : (
            <ul class="sv-found">
              {v.findings.map((f) => (
                <li key={f.id}>
                  <Severity of={f.severity} />
                  <a href={href('findings', { diagnosis: f.diagnosis, finding: f.id, from: null, to: null })}>
                    {safe(f.title)}</a>
                  {f.new && <span class="dim" title="No diagnosis of the hour before had it.">new</span>}
                  {v.ignored.includes(f.id) && <span class="dim">ignored</span>}
                </li>
              ))}
            </ul>
          )}
          {v.diagnosis && <p><a href={href('findings', { diagnosis: v.diagnosis, from: null, to: null })}>
            Diagnosis of its worst minute</a>{' '}<ReportLink id={v.diagnosis}>Report</ReportLink></p>}
        </div>
        <Seconds of={v} />
      </div>
      {v.classes.length > 0 && (
        <>
          <h3>Query classes during the incident</h3>
          <Table label="Query classes of the incident" columns={classColumns} rows={v.classes.slice(0, shown)}
            rowKey={(c) => c.id + (c.schema ?? '') + String(c.sampled ?? false)} sortParam="incident_classes" />
        </>
      )}
    </section>
  )
}

/** The seconds whose states are kept, with how bad each was. */
function Seconds({ of: v }: { of: IncidentFull }) {
  const kept = useMemo(() => new Set(v.kept.map((t) => Math.floor(seconds(t)))), [v.kept])
  const list = v.worst_seconds.filter((x) => kept.has(Math.floor(seconds(x.at))))
  const top = list.reduce((a, x) => Math.max(a, x.level), 0)
  const begin = Math.floor(seconds(v.from))
  return (
    <div>
      <h3>States of its worst seconds</h3>
      {list.length === 0 ? (
        <p class="dim">No states are stored: the server could not be read, or their retention has ended.</p>
      ) : (
        <ol class="sv-seconds">
          {list.map((x) => {
            const t = Math.floor(seconds(x.at))
            const how = x.level > 0 ? `${text(x.level, '')} times the threshold` : t < begin ? 'before it began' : ''
            return (
              <li key={x.at}>
                <a href={href('activity', { at: t + 0.999, from: null, to: null })}
                  title={how === '' ? 'What ran then' : `What ran then: ${how}`}>
                  {moment(t, { seconds: true })}
                </a>
                <Bar share={top > 0 ? x.level / top : 0} width={40} tone={t < begin ? 'info' : 'warn'} label={how} />
              </li>
            )
          })}
        </ol>
      )}
    </div>
  )
}

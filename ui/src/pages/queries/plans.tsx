import { ago, count, moment, useParam } from '../../core'
import { Badge, Button, Copy, Table, safe, type Column } from '../../kit'
import type { ClassPlan as Plan, Step } from '../../core/openapi.gen'

/**
 * Every plan a class was seen with, the newest first: as a table, as the server gave it, and what became otherwise with
 * it.
 */
export function Plans({ plans }: { plans: Plan[] }) {
  return (
    <div class="stack">
      {plans.map((p, i) => (
        <OnePlan key={p.hash + p.first_seen + (p.schema ?? '')} p={p}
          newest={plans.findIndex((x) => x.schema === p.schema) === i} />
      ))}
    </div>
  )
}

function OnePlan({ p, newest }: { p: Plan; newest: boolean }) {
  const [raw, setRaw] = useParam('raw')
  const first = Date.parse(p.first_seen) / 1000
  const last = Date.parse(p.last_seen) / 1000
  const open = raw === p.hash
  return (
    <section class="panel plan" aria-label={`Plan of ${moment(first, { date: true })}`}>
      <header>
        {newest ? <Badge tone="good">newest</Badge> : <Badge tone="unknown" icon={false}>previous</Badge>}
        {p.before ? (
          <span><b>Changed</b> at {moment(first, { date: true })} <span class="faint">{ago(first)}</span></span>
        ) : <span>First seen {moment(first, { date: true })}</span>}
        <span class="faint">last seen {ago(last)}</span>
        {p.schema && <span class="dim">in {safe(p.schema)}</span>}
        {p.guess && <Badge tone="info" title="The statement's parameters were unknown, so typical values were used.">
          typical values</Badge>}
        <span class="grow" />
        {p.plan && (
          <Button small kind="quiet" pressed={open} onClick={() => setRaw(open ? null : p.hash, { replace: true })}>
            Raw plan
          </Button>
        )}
      </header>
      <div class="body stack">
        {(p.changes ?? []).length > 0 && (
          <ul class="plan-changes" aria-label="What changed">{p.changes?.map((c) => <li key={c}>{safe(c)}</li>)}</ul>
        )}
        {open && p.plan ? (
          <div class="stack">
            <pre class="plan-raw" tabIndex={0} aria-label="raw plan">{safe(p.plan)}</pre>
            <Copy text={p.plan} label="Copy plan" />
          </div>
        ) : p.steps.length > 0 ? (
          <Table label="steps of the plan" class="plan-steps" columns={columns} rows={p.steps}
            rowKey={(x) => String(p.steps.indexOf(x))} sortParam="step" />
        ) : (
          <p class="dim">The server&apos;s text holds no steps that are understood: see it as the server says it.</p>
        )}
      </div>
    </section>
  )
}

const columns: Column<Step>[] = [
  {
    key: 'table', head: 'Table', class: 'mono',
    cell: (s) => (
      <>
        {safe(s.table)} {s.select_type && s.select_type !== 'SIMPLE' &&
          <span class="faint">{safe(s.select_type.toLowerCase())}</span>}
      </>
    ),
  },
  {
    key: 'access', head: 'Access',
    cell: (s) =>
      s.access === 'ALL' ? (
        <span class="tone-warn" title="reads the whole table">{s.access}<span class="faint"> whole table</span></span>
      ) : (safe(s.access)),
  },
  { key: 'key', head: 'Key', class: 'mono',
    cell: (s) =>
    (s.key ? safe(s.key) : <span class="faint">none
    {s.possible_keys?.length ? ` of ${safe(s.possible_keys.join(', '))}` : ''}</span>) },
  { key: 'ref', head: 'Ref', class: 'mono dim', cell: (s) => safe(s.ref ?? '') },
  { key: 'rows', head: 'Rows', align: 'right', title: 'rows the server expects per execution of the step',
    cell: (s) => count(s.rows) },
  { key: 'kept', head: 'Filtered', align: 'right', title: 'share of these that the condition keeps',
    cell: (s) => (s.filtered ? `${Math.round(s.filtered)} %` : '–') },
  { key: 'does', head: 'Extra', class: 'dim', cell: (s) => safe((s.extra ?? []).join('; ')) },
]

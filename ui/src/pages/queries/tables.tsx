import { ago, count, figure, moment, text } from '../../core'
import { Badge, Fold, Table, Unobservable, safe, type Column } from '../../kit'
import type { ClassTable, Column as TableColumn, Index } from '../../core/openapi.gen'

/** The tables of a class as they were at the end of the window: indexes, columns, sizes. */
export function Tables({ tables, names }: { tables: ClassTable[]; names: number }) {
  return (
    <section class="section" aria-label="Tables">
      <h2>Tables <span class="faint">as they were at the end of the time range</span></h2>
      <div class="stack">
        {tables.map((t) => t.at ? <OneTable key={t.name} t={t} at={Date.parse(t.at) / 1000}
            open={tables.length <= 2} />
          : <Unobservable key={t.name} what={`Definition of ${safe(t.name)}`} why={t.why && safe(t.why)}
            fix={t.fix && <>Fix: <code>{safe(t.fix)}</code></>} />)}
      </div>
      {names > tables.length && <p class="faint">The first {tables.length} of {count(names)} tables.</p>}
    </section>
  )
}

function OneTable({ t, at, open }: { t: ClassTable; at: number; open: boolean }) {
  const size = (t.data_bytes ?? 0) + (t.index_bytes ?? 0)
  const name = t.schema ? `${t.schema}.${t.table}` : t.table
  return (
    <Fold class="panel class-table" open={open} head={
        <>
          <b class="mono cut">{safe(name)}</b>
          {t.view && <Badge tone="info" icon={false}>view</Badge>}
          {t.rows !== undefined && <span title="the server's estimate">≈ {figure(t.rows, '').value}
            {figure(t.rows, '').unit} rows</span>}
          {size > 0 && <span>{text(size, 'B')}</span>}
          <span class="grow" />
          {t.after && <Badge tone="warn" title="No earlier definition is stored.">read after the time range</Badge>}
          <span class="faint" title={t.source === 'plan' ? 'read with a plan of this query' : 'read by a diagnosis'}>
            as of {moment(at, { date: true })}, {ago(at)}</span>
        </>
      }>
      {() => (
        <div class="body stack">
          {(t.changes ?? []).length > 0 && (
            <ul class="plan-changes" aria-label={`Schema changes of ${safe(name)}`}>
              {t.changes?.map((e) => (
                <li key={e.id}>
                  {t.after ? 'Before this was read' : 'Changed since'}, {moment(Date.parse(e.at) / 1000,
                    { date: true })}: <span class="mono">{safe(e.text)}</span>
                </li>
              ))}
            </ul>
          )}
          {t.indexes.length > 0 ? (
            <Table label={`indexes of ${safe(name)}`} class="plan-steps" columns={indexColumns} rows={t.indexes}
              rowKey={(x) => String(t.indexes.indexOf(x))} sortParam="index" />
          ) : <p class={t.view ? 'dim' : 'tone-warn'}>{t.view ? 'A view has no indexes of its own.' : 'No indexes.'}</p>}
          <Table label={`columns of ${safe(name)}`} class="plan-steps" columns={columnColumns} rows={t.columns}
            rowKey={(x) => String(t.columns.indexOf(x))} sortParam="column" />
          {(t.foreign_keys ?? []).length > 0 && (
            <ul aria-label={`foreign keys of ${safe(name)}`}>
              {t.foreign_keys?.map((f) => (
                <li key={f.name} class="mono">
                  {safe(`${f.name}: (${(f.columns ?? []).join(', ')}) → ${f.to.schema}.${f.to.table} (` +
                    `${(f.refers ?? []).join(', ')})`)}
                </li>
              ))}
            </ul>
          )}
          <p class="meta faint">{factsOf(t).map((x) => <span key={x}>{safe(x)}</span>)}</p>
        </div>
      )}
    </Fold>
  )
}

/** What is known of the table as a whole. */
function factsOf(t: ClassTable): string[] {
  const out: string[] = []
  if (t.engine) out.push(t.engine + (t.row_format ? `, ${t.row_format}` : ''))
  if (t.data_bytes !== undefined) out.push(`Data ${text(t.data_bytes, 'B')}`)
  if (t.index_bytes !== undefined) out.push(`Secondary indexes ${text(t.index_bytes, 'B')}`)
  if (t.free_bytes) out.push(`Free ${text(t.free_bytes, 'B')}`)
  if (t.partitions) out.push(`${count(t.partitions)} partitions`)
  if (t.collation) out.push(t.collation)
  if (t.options) out.push(t.options)
  if (t.age_sec !== undefined) out.push(`Created or rebuilt ${text(t.age_sec, 's')} before`)
  if (t.triggers?.length)
    out.push(`Triggers: ${t.triggers.map((x) => `${x.name} ${x.timing} ${x.event}`).join(', ')}`)
  return out
}

/** The columns of an index as CREATE TABLE writes them. */
export function partsOf(x: Index): string {
  return (x.parts ?? []).map((p) =>
    (p.column ?? `(${p.expr ?? ''})`) + (p.prefix ? `(${p.prefix})` : '') + (p.desc ? ' DESC' : '')).join(', ')
}

const indexColumns: Column<Index>[] = [
  { key: 'index', head: 'Index', class: 'mono', cell: (x) => safe(x.name) },
  { key: 'parts', head: 'Columns', class: 'mono', cell: (x) => safe(partsOf(x)) },
  { key: 'unique', head: 'Unique',
    cell: (x) => x.primary || x.name === 'PRIMARY' ? 'primary key' : x.unique ? 'yes' : 'no' },
  { key: 'type', head: 'Type', class: 'dim', cell: (x) => safe(x.type) },
  {
    key: 'distinct', head: 'Cardinality', align: 'right',
    title: 'distinct values of the index up to each column, as the server estimates them',
    cell: (x) => (x.parts ?? []).map((p) => p.cardinality === undefined ? '–' : count(p.cardinality)).join(', '),
  },
  { key: 'visible', head: 'Visible', title: 'whether the optimizer may use it',
    cell: (x) => x.hidden ? <span class="tone-warn">no</span> : 'yes' },
]

const columnColumns: Column<TableColumn>[] = [
  { key: 'column', head: 'Column', class: 'mono', cell: (x) => safe(x.name) },
  { key: 'type', head: 'Type', class: 'mono', cell: (x) => safe(x.type) },
  { key: 'null', head: 'Null', cell: (x) => (x.nullable ? 'yes' : 'no') },
  { key: 'collation', head: 'Collation', class: 'dim', cell: (x) => safe(x.collation ?? '') },
  { key: 'extra', head: 'Extra', class: 'dim',
    cell: (x) => safe([x.generated && `generated: ${x.generated}`, x.extra].filter(Boolean).join('; ')) },
]

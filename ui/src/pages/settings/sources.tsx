// The data sources of a target, and the fix of those that are unavailable.
import { useGet } from '../../core/data'
import { Badge, Copy, narrow, Num, safe, Show, Table, type Column, type Tone } from '../../kit'
import type { Source } from '../../core/openapi.gen'

const stateTone: Record<Source['state'], Tone> =
  { ok: 'good', missing: 'unknown', denied: 'warn', failed: 'bad', slow: 'warn' }
const stateWord: Record<Source['state'], string> =
  { ok: 'read', missing: 'unavailable', denied: 'grant missing', failed: 'failed', slow: 'too slow' }
const rank: Record<Source['state'], number> = { failed: 0, denied: 1, slow: 2, missing: 3, ok: 4 }

export function SourceState({ s }: { s: Source }) {
  return <Badge tone={stateTone[s.state]}>{stateWord[s.state]}</Badge>
}

/** The fix of a source: a statement to copy, or words. */
export function Fix({ fix }: { fix: string }) {
  return /^(GRANT|SET|UPDATE|INSTALL|CALL) /.test(fix) ? (
    <span class="fix-line">
      <code>{safe(fix)}</code>
      <Copy text={fix.replace(/;?$/, ';')} bare label="Copy the statement" />
    </span>
  ) : <span class="dim">{safe(fix)}</span>
}

const columns: Column<Source>[] = [
  { key: 'source', head: 'Source', value: (s) => s.name, cell: (s) => <span class="mono">{s.name}</span> },
  { key: 'state', head: 'State', value: (s) => rank[s.state], cell: (s) => <SourceState s={s} /> },
  { key: 'every', head: 'Every', align: 'right', value: (s) => s.every_seconds,
    cell: (s) => <Num v={s.every_seconds || undefined} unit="s" /> },
  { key: 'took', head: 'Read time', align: 'right', value: (s) => s.took_ms,
    cell: (s) => <Num v={s.took_ms} unit="ms" /> },
  {
    key: 'about', head: 'Description', class: 'wraps',
    cell: (s) => (
      <div class="stack tight">
        {s.about && <span>{s.about}</span>}
        {s.reason && <span class={s.state === 'ok' ? 'faint' : 'dim'}>{safe(s.reason)}</span>}
        {s.fix && <Fix fix={s.fix} />}
      </div>
    ),
  },
]

/** On a phone the name and the state share a column, so that what is missing has room next to them. */
const few: Column<Source>[] = [
  {
    key: 'source', head: 'Source', value: (s) => rank[s.state] + s.name,
    cell: (s) => <div class="stack tight"><span class="mono">{s.name}</span><span><SourceState s={s} /></span></div>,
  },
  ...columns.filter((c) => c.key === 'about'),
]

function SourceTable({ sources }: { sources: Source[] }) {
  return <Table columns={narrow.value ? few : columns} rows={sources} rowKey={(s) => s.name} label="Sources"
    sortParam="by" sort={narrow.value ? 'source' : 'state'} />
}

export function Sources({ target }: { target: string }) {
  const data = useGet('sources', { target }, { every: 5000 })
  return (
    <Show of={data} what={`Data sources of ${target}`} empty={(v) => v.sources.length === 0}
      none={<p class="dim">No data read yet.</p>}>
      {(v) => {
        const lack = v.sources.filter((s) => s.state !== 'ok').length
        return (
          <div class="stack">
            <p class="dim">
              {lack === 0 ? `All ${v.sources.length} data sources are available.`
                : `${lack} of ${v.sources.length} data sources are unavailable.`}
            </p>
            <SourceTable sources={v.sources} />
          </div>
        )
      }}
    </Show>
  )
}

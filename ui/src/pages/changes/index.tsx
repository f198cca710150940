// Changes: what was done to servers, with its way back and its proof.
import { useCallback, useState } from 'preact/hooks'
import { address, ago, href, moment, post, seconds, setParams, text, useGet, useParam, whyNot,
  withParams } from '../../core'
import { rememberTask, TaskProgress, tasks, useTask, useTaskEnd } from '../../core/tasks'
import { Badge, Button, Empty, Icon, Notice, Num, Page, Problem, ReportLink, safe, Show, Sql, Table, useRun,
  type Column, type IconName, type Tone } from '../../kit'
import { Statement, UndoDialog } from './dialogs'
import { factor } from './factor'
import { LiveView } from './live'
import type { JournalAction as Change, ChangeDetail as Detail, ClassChange as Proven, ClassFigures as Figures, Note,
  ProofShort as Proof } from '../../core/openapi.gen'
import './changes.css'

const states: Record<Change['state'], [Tone, IconName, string]> = {
  planned: ['info', 'info', 'Planned'],
  running: ['info', 'play', 'Running'],
  done: ['good', 'good', 'In effect'],
  failed: ['bad', 'bad', 'Failed'],
  undone: ['unknown', 'undo', 'Undone'],
}
const kinds = ['apply', 'undo', 'prove']

export function ChangesPage() {
  return <Page title="Changes"><Journal /></Page>
}

export default ChangesPage

function StateBadge({ c }: { c: Change }) {
  if (c.open) return <Badge tone="warn">Left open</Badge>
  const [tone, icon, word] = states[c.state]
  return <Badge tone={tone} icon={icon}>{word}</Badge>
}

function Journal() {
  const [target] = useParam('target')
  const [id, setID] = useParam('id')
  const list = useGet('changes', { target }, { every: 5000, keep: true })
  const reload = list.reload
  useTaskEnd(kinds, useCallback(() => reload(), [reload]))
  const running =
    tasks.value.filter((t) => t.state === 'running' && kinds.includes(t.kind) && (target === '' || t.target === target))
  return (
    <div class="journal">
      <p class="dim journal-of">
        {target === '' ? ('Journal of all servers, newest first.') : (
          <>
            Journal of <b class="journal-target">{safe(target)}</b>
              , newest first. <a href={withParams({ target: null, id: null })}>All servers</a>
          </>
        )}
      </p>
      {running.length > 0 && (
        <section class="panel running" aria-label="Running now">
          {running.map((t) => <div key={t.id} class="body"><TaskProgress task={t} notes /></div>)}
        </section>
      )}
      <Show of={list} what="Journal" empty={(v) => v.changes.length === 0} none={
          <Empty icon="changes" title="No changes yet"
            hint={'A finding that suggests a change has a button to preview it. Each change is recorded here with ' +
              'its undo statement before anything runs.'}
            action={<a class="button b-main" href={href('findings')}>Go to Findings</a>} />
        }>
        {(v) => (
          <Table<Change>
            label="Journal" rows={v.changes} rowKey={(c) => c.id} selected={id || null}
            onOpen={(c) => setID(c.id === id ? null : c.id)} sortParam="sort" columns={[
              { key: 'when', head: 'When', value: (c) => c.planned,
                cell: (c) => <span class="nowrap" title={ago(seconds(c.planned))}>
                {moment(seconds(c.planned), { date: true })}</span>, width: 130 },
              { key: 'state', head: 'State', value: (c) => c.state, cell: (c) => <StateBadge c={c} />, width: 116 },
              { key: 'what', head: 'Change', cell: (c) => <span class="cut journal-text">{safe(c.text)}</span> },
              { key: 'target', head: 'Target', value: (c) => c.target,
                cell: (c) => <span class="cut">{safe(c.target)}</span>, width: 150 },
              { key: 'by', head: 'By', value: (c) => by(c), cell: (c) => <span class="dim">{by(c)}</span>, width: 170 },
              { key: 'took', head: 'Took', align: 'right', value: (c) => took(c),
                cell: (c) => <Num v={took(c)} unit="s" />, width: 90 },
            ]} />
        )}
      </Show>
      {id !== '' && <Entry key={id} id={id} reload={reload} />}
    </div>
  )
}

function by(c: Change): string {
  return safe(c.by ?? 'command line')
}

function took(c: Change): number | null {
  const s = seconds(c.ended) - seconds(c.started)
  return Number.isFinite(s) && s >= 0 ? s : null
}

function Entry({ id, reload }: { id: string; reload: () => void }) {
  const one = useGet('change', { id }, { every: 5000 })
  const again = one.reload
  useTaskEnd(kinds, useCallback(() => again(), [again]))
  return (
    <section class="panel entry" aria-label="Action">
      <Show of={one} what={'Action ' + id} lines={6}>
        {(c) => (
          <One c={c} reload={() => {
              again()
              reload()
            }} />
        )}
      </Show>
      {one.error?.status === 404 && <p class="body"><a href={withParams({ id: null })}>Back to the journal</a></p>}
    </section>
  )
}

function One({ c, reload }: { c: Detail; reload: () => void }) {
  const [undoing, undo] = useState(false)
  const task = useTask(c.task)
  const way = c.action.undo !== '' && (c.state === 'done' || c.state === 'running' || c.state === 'planned')
  return (
    <>
      <header class="entry-head">
        <StateBadge c={c} />
        <h2 class="grow">{safe(c.text)}</h2>
        <code class="faint">{c.id}</code>
        {way && (
          <Button icon="undo" kind={c.open ? 'main' : 'plain'}
            why={c.task && task?.kind !== 'prove' ? 'a task is working on it' : whyNot()} onClick={() => undo(true)}>
            {c.open ? 'Check the server…' : 'Undo…'}
          </Button>
        )}
        <Button kind="quiet" icon="close" label="Close" onClick={() => setParams({ id: null })} />
      </header>
      <div class="body entry-body">
        {c.open && <Notice tone="warn">{safe(c.open)}</Notice>}
        {c.error && <Notice tone="bad">{safe(c.error)}</Notice>}
        {task && task.state === 'running' && task.kind !== 'prove' && <TaskProgress task={task} notes />}
        <div class="entry-cols">
          <div class="stack">
            <p class="dim">
              On <b>{safe(c.target)}</b>, {moment(seconds(c.planned), { date: true, seconds: true })} (
                {ago(seconds(c.planned))}), by {by(c)}
              {took(c) !== null && <>, took {text(took(c), 's')}</>}
              {c.undone_at && (
                <>
                  ; undone {moment(seconds(c.undone_at), { date: true, seconds: true })}
                  {c.undo_by && ' by ' + safe(c.undo_by)}
                </>
              )}
              .
            </p>
            {c.title && (
              <p>
                Because <a href={href('findings', { target: c.target, diagnosis: c.before, finding: c.finding }, [])}>
                  {safe(c.title)}</a>
              </p>
            )}
            <Statement name="Statement" sql={c.action.sql} copy="Copy the statement" />
            {c.action.undo ? <Statement name="Undo statement" sql={c.action.undo} copy="Copy the undo statement" />
              : <p class="dim">No undo is needed.</p>}
          </div>
          <div>
            <h3>Events</h3>
            <ol class="entry-notes">{course(c).map((x, i) => <Step key={i} at={x.at} text={x.text} />)}</ol>
          </div>
        </div>
        <Proofs c={c} />
      </div>
      {undoing && (
        <UndoDialog id={c.id} text={c.text} target={c.target} action={c.action} onClose={() => {
            undo(false)
            reload()
          }} />
      )}
    </>
  )
}

/** What happened, in order of time. */
function course(c: Change): Note[] {
  const all: Note[] = [{ at: c.planned, text: 'recorded in the journal' + (c.by ? `, requested by ${c.by}, in the web UI` : '') }, ...(c.notes ?? [])]
  if (c.started) all.push({ at: c.started, text: 'first statement sent' })
  if (c.ended) all.push({ at: c.ended, text: c.state === 'failed' ? 'failed' : 'completed; verified on the server' })
  if (c.undone_at) all.push({ at: c.undone_at, text: 'undone; verified on the server' })
  return all.sort((a, b) => seconds(a.at) - seconds(b.at))
}

function Step({ at, text }: { at: string; text: string }) {
  return <li><time class="faint">{moment(seconds(at), { seconds: true })}</time><span>{safe(text)}</span></li>
}

function Proofs({ c }: { c: Detail }) {
  const { error, run } = useRun()
  const newest = c.proofs[0]
  const prove = () => run(async () => rememberTask(await post('prove', { id: c.id })))
  const running = tasks.value.find((t) => t.kind === 'prove' && t.about === c.id && t.state === 'running')
  const last = tasks.value.find((t) => t.kind === 'prove' && t.about === c.id)
  if (c.state !== 'done' && !newest) return null
  return (
    <section class="proof" aria-label="Before and after">
      <div class="proof-head">
        <h3>Before and after, on live traffic</h3>
        {c.state === 'done' && (
          <Button small icon="reload" why={running ? 'measuring' : whyNot()} onClick={() => void prove()}>
            {newest ? 'Measure again' : 'Prove it'}
          </Button>
        )}
      </div>
      {error && <Problem error={error} />}
      {running && <TaskProgress task={running} />}
      {!running && last?.state === 'failed' && <TaskProgress task={last} />}
      {newest ? <ProofView p={newest} />
        : <p class="dim">
        Not measured yet. Compares time per call of the affected classes before and after, out of what was stored;
        right after a change it waits for traffic, up to 30 minutes. Read-only.</p>}
      {c.proofs.length > 1 && (
        <p class="dim">
          Earlier proofs:{' '}
          {c.proofs.slice(1, 9).map((p, i) => (
            <span key={p.id}>
              {i > 0 && ', '}
              <a href={address('report.html', { id: p.id })} target="_blank" rel="noreferrer">
                {moment(seconds(p.at), { date: true })}
              </a>
            </span>
          ))}
        </p>
      )}
    </section>
  )
}

/** A figure before, and after. */
function both(key: string, head: string, unit: string,
  of: (f: Figures | undefined) => number | undefined): Column<Proven>[] {
  return [
    { key, head: head + ' before', align: 'right', cell: (x) => <Num v={of(x.before)} unit={unit} /> },
    { key: key + '-after', head: 'after', align: 'right', cell: (x) => <Num v={of(x.after)} unit={unit} /> },
  ]
}

const proofColumns: Column<Proven>[] = [
  {
    key: 'class', head: 'Class', class: 'proof-class',
    cell: (x) => (
      <>
        <Sql text={x.fingerprint} lines={1} />
        {x.sampled && <span class="faint">estimated; rows are at least these</span>}
      </>
    ),
  },
  ...both('mean', 'Time per call', 's', (f) => f?.mean_sec),
  {
    key: 'factor', head: 'Time ratio', align: 'right',
    cell: (x) => {
      const f = factor(x)
      return f ? <span class={'tone-' + f.tone}>{f.text}</span> : '–'
    },
  },
  ...both('examined', 'Rows read per call', '', (f) => f?.examined_per_call),
  ...both('calls', 'Calls', '/s', (f) => f?.per_sec),
]

function ProofView({ p }: { p: Proof }) {
  const top = (p.classes ?? []).find((x) => x.before?.mean_sec !== undefined && x.after?.mean_sec !== undefined)
  const f = top && factor(top)
  if (p.live) {
    return (
      <div class="stack">
        <LiveView p={p.live} sentence={p.sentence} />
        <p class="faint"><ReportLink id={p.id}>Full report</ReportLink></p>
      </div>
    )
  }
  return (
    <div class="stack">
      <p class="proof-verdict">
        {f && <Badge tone={f.tone} icon={f.tone}>{f.word}</Badge>}
        <span>{safe(p.sentence)}</span>
      </p>
      <Table label="Classes before and after" columns={proofColumns} rows={p.classes ?? []} rowKey={(x) => x.id}
        sortParam="proof" empty={<p class="dim">No affected class ran both before and after.</p>} />
      {(p.measures ?? []).length > 0 && (
        <dl class="proof-server">
          {(p.measures ?? []).map((m) => (
            <div key={m.name}><dt>{safe(m.title)}</dt><dd>{text(m.before, m.unit)} → {text(m.after, m.unit)}</dd></div>
          ))}
        </dl>
      )}
      {(p.warnings ?? []).map((w, i) => (
        <p key={i} class="dim proof-warning"><Icon name="warn" size={13} /> {safe(w)}</p>
      ))}
      <p class="faint">
        {moment(seconds(p.from), { date: true, seconds: true })} to {moment(seconds(p.to), { seconds: true })}
          . The server keeps sums, so means have no interval. Server totals are shown for context, not as proof:
          traffic varies.{' '}
        <ReportLink id={p.id}>Full report</ReportLink>
      </p>
    </div>
  )
}


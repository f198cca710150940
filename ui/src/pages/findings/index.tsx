// Findings: what holds a server back, worst first, and what to do about it.
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { ago, figure, href, moment, now, post, seconds, span, text, useGet, useKeys, useParam, useTarget, whyNot,
  withParams, type Answer } from '../../core'
import { rememberTask, TaskProgress, tasks, useTaskEnd } from '../../core/tasks'
import { kindName } from '../../graph/marks'
import { Bar, Button, Empty, Fold, Icon, Notice, Page, Panel, Problem, ReportLink, safe, Show, Sql, Unobservable,
  useRun } from '../../kit'
import { ApplyDialog } from '../changes/dialogs'
import { FindingCard } from './finding'
import { Fact } from './pictures'
import { unseen } from './unseen'
import type {
  DiagnosisDetail, DiagnosisSummary, Finding, Node, OpenFinding as Open, Task, TimeModel,
} from '../../core/openapi.gen'
import './findings.css'

const windows = [['0', 'last minute'], ['10', 'next 10 s'], ['30', 'next 30 s'], ['60', 'next minute'],
  ['300', 'next 5 min']] as const

export function FindingsPage() {
  return <Page title="Findings" target><OfTarget /></Page>
}

export default FindingsPage

function OfTarget() {
  const [target] = useTarget()
  const [id] = useParam('diagnosis')
  const newest = useGet('findings', { target }, { every: 20_000 })
  const old = useGet(id ? 'diagnosis' : null, { id })
  const reload = newest.reload
  const [open] = useParam('finding')
  const [applying, apply] = useState<Finding | null>(null)
  // Who reads a finding, or is about to act on one, is not interrupted by a scheduled diagnosis: it is offered.
  const [kept, keep] = useState<{ d: DiagnosisDetail; all: Answer<'findings'> }>()
  const [wanted, want] = useState('') // the diagnosis requested here
  const fresh = newest.value?.diagnosis
  const reading = (open !== '' && open !== 'none') || applying !== null
  const mine = kept?.d.target === target && kept.d.id !== fresh?.id ? kept : undefined
  const held = mine && reading && (fresh?.id !== wanted || applying !== null) ? mine : undefined
  const shown = held?.d ?? fresh
  useEffect(() => {
    if (!held && fresh && newest.value) keep({ d: fresh, all: newest.value })
  }, [held, fresh, newest.value])
  useTaskEnd(['diagnose'], useCallback((t: Task) => {
    if (t.target !== target) return
    if (t.result) want(t.result)
    reload()
  }, [target, reload]))
  const running = tasks.value.find((t) => t.state === 'running' && t.kind === 'diagnose' && t.target === target)
  const failed = tasks.value.find((t) => t.kind === 'diagnose' && t.target === target)
  return (
    <>
      <Look target={target} running={running} />
      {!running && failed?.state === 'failed' && <div class="look-running"><TaskProgress task={failed} /></div>}
      <Show of={newest} lines={8} what="Findings">
        {(f) => (
          <>
            {id !== '' && old.error ? (
              <Problem error={old.error} what="Diagnosis" retry={old.reload} />
            ) : id !== '' && old.value ? (
              <Diagnosis d={old.value} history={f.history} newest={f.diagnosis} apply={apply} />
            ) : shown ? (
              <>
                {fresh && fresh.id !== shown.id && (
                  <Notice tone="info" action={<Button small onClick={() => keep({ d: fresh, all: f })}>Show it</Button>}
                  >
                    A newer diagnosis is available, {ago(seconds(fresh.to))}
                      : {fresh.count === 0 ? 'nothing found' : `${fresh.count} found`}.
                  </Notice>
                )}
                <Diagnosis d={shown} all={held?.all ?? f} history={f.history} newest={shown} apply={apply}
                  changed={reload} />
              </>
            ) : (
              <Empty icon="findings" title={`${safe(target)} has not been diagnosed yet`} hint={f.every_seconds
                  ? `Dyno diagnoses a server when it first sees it and every ${span(f.every_seconds)} after that. ` +
                    `A diagnosis takes 10 s and is read-only.` : 'A diagnosis takes 10 s, is read-only, and shows ' +
                      'what slows the server down.'} />
            )}
          </>
        )}
      </Show>
      {applying?.action && <ApplyDialog target={target} finding={applying.id} title={applying.suggestion}
        action={applying.action} onClose={() => apply(null)} />}
    </>
  )
}

/** Starts a diagnosis and shows its progress. */
function Look({ target, running }: { target: string; running: Task | undefined }) {
  const [window, setWindow] = useState('0')
  const { error, forget, run } = useRun()
  useEffect(forget, [target])
  const start = () => run(async () => rememberTask(await post('diagnose', { target, window: Number(window) })))
  return (
    <div class="look">
      <label class="look-window" title="Last minute: from scrapes already made; next 10 s and longer: observed now">
        <span class="dim">Window</span>
        <select value={window} onChange={(e) => setWindow(e.currentTarget.value)} disabled={running !== undefined}>
          {windows.map(([v, name]) => <option key={v} value={v}>{name}</option>)}
        </select>
      </label>
      <Button kind="main" icon="findings" why={running ? 'a diagnosis is running' : whyNot()}
        onClick={() => void start()}>
        Diagnose
      </Button>
      {running && <div class="look-running grow"><TaskProgress task={running} /></div>}
      {error && <Problem error={error} />}
    </div>
  )
}

/** One diagnosis; with all, the findings of the hour before it in place of its own. */
function Diagnosis(
  { d, all, history, newest, apply, changed }: {
    d: DiagnosisDetail; all?: Answer<'findings'>; history: DiagnosisSummary[]; newest: DiagnosisDetail | undefined
    apply: (f: Finding) => void; changed?: () => void
  }) {
  const [open, setOpen] = useParam('finding')
  const list: { f: Finding; life?: Open }[] = all ? all.open.map((o) => ({ f: o.finding, life: o }))
    : d.findings.map((f) => ({ f }))
  const first = list[0]?.f.id ?? ''
  const at = open === '' ? first : open
  const move = (by: number) => {
    const i = list.findIndex((x) => x.f.id === at)
    const next = list[Math.min(list.length - 1, Math.max(0, i + by))]
    if (next) setOpen(next.f.id, { replace: true })
  }
  const card = (f: Finding, life?: Open) => (
    <FindingCard key={f.id} of={d} finding={f} life={life} apply={() => apply(f)} open={f.id === at}
      onToggle={() => setOpen(f.id === at ? 'none' : f.id, { replace: true })} {...(changed ? { changed } : {})} />
  )
  useKeys({ j: { help: 'next finding', run: () => move(1) }, k: { help: 'previous finding', run: () => move(-1) } })
  const blind = unseen(d)
  const odd = d.symptoms.filter((s) => s.kind !== 'not-observable')
  return (
    <div class="diagnosis">
      <header class="verdict">
        <h2 class="verdict-line">{safe(all ? summary(all, d) : headline(d))}</h2>
        <p class="dim">
          {newest && newest.id !== d.id && (
            <>
              <b>Earlier diagnosis.</b> <a href={withParams({ diagnosis: null, finding: null })}>Show the newest</a> ·
                {' '}
            </>
          )}
          Observed {span(d.time.seconds)}
            , {moment(seconds(d.from), { date: true, seconds: true })} to {moment(seconds(d.to), { seconds: true })} (
            {ago(seconds(d.to))}) · {d.trigger ? <Trigger d={d} of={d.trigger} /> : safe(who(d))} · {safe(d.server)} ·
            {' '}
          {d.sources_looked_at - d.sources.length} of {d.sources_looked_at} data sources available · snapshot <code>
            {d.id}</code> ·{' '}
          <ReportLink id={d.id}>Report</ReportLink>
        </p>
        {(d.past ?? []).length > 0 && (
          <Notice tone="info">
            From stored data:
            <ul>{d.past?.map((x) => <li key={x}>{safe(x)}</li>)}</ul>
          </Notice>
        )}
        <History history={history} at={d.id} />
      </header>
      {list.length > 0 ? (
        <section aria-label="Findings, worst first" class="findings">{list.map((x) => card(x.f, x.life))}</section>
      ) : <Nothing d={d} odd={odd.length} />}
      {all && all.ignored.length > 0 && (
        <Group title={`Ignored (${all.ignored.length})`} about="temporarily hidden from the open findings"
          open={all.ignored.some((o) => o.finding.id === open)}>
          <div class="findings">{all.ignored.map((o) => card(o.finding, o))}</div>
        </Group>
      )}
      {all && all.resolved.length > 0 && (
        <Group title={`Resolved (${all.resolved.length})`} about="no longer seen, last 7 days">
          <ul class="lines">
            {all.resolved.slice(0, 50).map((r) => (
              <li key={r.id}>
                <Icon name="good" size={13} />
                <span>
                  {safe(r.title)}{' '}
                  <span class="dim">
                    first seen {ago(seconds(r.first_seen))}, last seen {ago(seconds(r.last_seen))}
                  </span>{' '}
                  {r.change && <a href={href('changes', { target: d.target, change: r.change }, [])}>
                    changed by {r.change}</a>}
                </span>
              </li>
            ))}
          </ul>
        </Group>
      )}
      {(d.facts ?? []).length > 0 && (
        <Group title={`Facts (${d.facts.length})`} about="no measured impact so far; not counted as findings"
          open={d.facts.some((f) => f.id === open)}>
          <div class="findings">{d.facts.map((f) => card(f))}</div>
        </Group>
      )}
      <div class="below">
        <Panel title="Where the time went"
          sub={`${text(d.time.statement_seconds, 's')} of statements in ${text(d.time.seconds, 's')}`}>
          <div class="body"><Time t={d.time} target={d.target} /></div>
        </Panel>
        <Panel title={`Symptoms (${odd.length})`}>
          <div class="body stack">
            {odd.length === 0 && <p class="dim">No symptoms in the window.</p>}
            {odd.map((s) => {
              const by = d.findings.find((f) => f.symptoms?.includes(s.id))
              return (
                <details key={s.id} class="symptom">
                  <summary>
                    <span class="grow">{safe(s.title)}</span>
                    {by ? <span class="dim nowrap">explained</span>
                      : <span class="tone-warn nowrap">no cause named</span>}
                  </summary>
                  <ul class="facts">{(s.evidence ?? []).map((e, i) => <Fact key={i} e={e} />)}</ul>
                </details>
              )
            })}
          </div>
        </Panel>
        {blind.length > 0 && (
          <Panel title="Data unavailable" sub="unknown, not OK">
            <div class="body stack">
              {blind.map((u) => (
                <Unobservable key={u.what} what={safe(u.what)}
                  why={u.why.length > 0 && u.why.map((w, i) => <span key={i}>{i > 0 && <br />}{safe(w)}</span>)}
                  fix={u.fix && <code>{safe(u.fix)}</code>} />
              ))}
            </div>
          </Panel>
        )}
      </div>
      {(d.reasoning ?? []).length > 0 && (
        <Fold class="panel reasoning" head={
            <>
              <Icon name="right" size={14} />
              <h2>Full reasoning</h2>
              <span class="dim">from observations to findings</span>
            </>
          }>
          {() => <div class="body"><Tree nodes={d.reasoning ?? []} /></div>}
        </Fold>
      )}
    </div>
  )
}

/** A list next to the open findings, folded at first. */
function Group(
  { title, about, open, children }: { title: string; about: string; open?: boolean; children: ComponentChildren }) {
  return (
    <details class="panel group" open={open}>
      <summary><Icon name="right" size={14} /><h2>{title}</h2><span class="dim">{about}</span></summary>
      <div class="body">{children}</div>
    </details>
  )
}

/** How many findings are open, over how many diagnoses. */
function summary(all: Answer<'findings'>, d: DiagnosisDetail): string {
  if (all.open.length === 0) return all.ignored.length > 0 ? `No open findings, ${all.ignored.length} ignored`
    : d.findings.length === 0 ? headline(d) : 'No open findings'
  const n =
    `${all.open.length} open finding${all.open.length === 1 ? '' : 's'}${all.open.length > 1 ? ', worst first' : ''}`
  return all.diagnoses > 1 ? `${n}: ${all.diagnoses} diagnoses in the last hour` : n
}

/** What the server is short of, where that is known, and how much was found; the findings have the rest. */
function headline(d: DiagnosisDetail): string {
  const worst = d.findings[0]
  if (!worst) return d.sentence
  const i = d.sentence.indexOf(': ' + worst.title)
  const n = `${d.findings.length} finding${d.findings.length === 1 ? '' : 's'}`
  const first = d.findings.length > 1 ? ', worst first' : ''
  return i > 0 ? `${d.sentence.slice(0, i)}: ${n}${first}` : n + first
}

function who(v: DiagnosisSummary): string {
  if (v.incident) return 'started by an incident'
  if (v.background) return 'scheduled'
  return v.by ? 'requested by ' + v.by : 'from the command line'
}

/** The incident that started a diagnosis, and how its time lies to that which was observed. */
function Trigger({ d, of }: { d: DiagnosisDetail; of: NonNullable<DiagnosisDetail['trigger']> }) {
  const at = seconds(of.at)
  const over = of.until !== undefined && seconds(of.until) < seconds(d.from)
  return (
    <>
      started by the{' '}
      <a href={href('activity', { at: Math.ceil(at) })} title={safe(of.text)}>
        incident ({kindName(of.kind)}) of {moment(at, { seconds: true })}
      </a>
      {over ? ', which was over before the observation began'
        : `, ${span(Math.max(0, seconds(d.from) - at))} after it began`}
    </>
  )
}

function Nothing({ d, odd }: { d: DiagnosisDetail; odd: number }) {
  return (
    <Empty icon="good"
      title={odd > 0 ? 'No cause was found' : now() - seconds(d.to) < 300 ? 'No findings' : 'No findings at that time'}
      hint={
        <>
          {odd === 0
            ? `No rule found anything abnormal in the ${span(d.time.seconds)} until ` +
              `${moment(seconds(d.to), { seconds: true })}.` : 'There were symptoms, see below, but no rule names ' +
                'a cause.'}
          {d.sources.length > 0 && (
            <>
              {' '}
              {d.sources.length} of {d.sources_looked_at} data sources were unavailable: what they would show is
                unknown, not OK.
            </>
          )}{' '}
          A longer diagnosis catches rare events.
        </>
      } />
  )
}

/** Earlier diagnoses, oldest left. */
function History({ history, at }: { history: DiagnosisSummary[]; at: string }) {
  if (history.length < 2) return null
  const shown = history.slice(0, 40).reverse()
  return (
    <nav class="history" aria-label="Previous diagnoses">
      <span class="dim">Diagnoses</span>
      {shown.map((v) => {
        const word = v.count === 0 ? 'nothing found' : `${v.count} found, worst ${v.severity ?? ''}`
        return (
          <a key={v.id} class={`history-at sev-${v.count === 0 ? 'none' : (v.severity ?? 'none')}`}
            href={withParams({ diagnosis: v.id === history[0]?.id ? null : v.id, finding: null })}
            aria-current={v.id === at ? 'true' : undefined}
            title={safe(`${moment(seconds(v.at), { date: true })}, ${who(v)}: ${word}${v.worst ? ': ' + v.worst : ''}`)}
          >
            <span class="hide">{moment(seconds(v.at), { date: true })}: {word}</span>
            <span aria-hidden="true">{v.count}</span>
          </a>
        )
      })}
    </nav>
  )
}

function Time({ t, target }: { t: TimeModel; target: string }) {
  return (
    <>
      <ul class="time-parts">
        {t.parts.map((p, i) => (
          <li key={i} class="time-part">
            <span class="time-text">
              {p.class ? <a href={href('queries', { target, class: p.class, from: null, to: null }, [])}>
              <Sql text={p.text} lines={1} /></a> : <span class="dim">{safe(p.text)}</span>}</span>
            <Bar share={p.share} width={72} />
            <span class="num">{figure(p.share, 'ratio').value}<span class="unit">%</span></span>
            <span class="num dim">{text(p.seconds, 's')}</span>
          </li>
        ))}
        {t.parts.length === 0 && <li class="dim">No statements ran in the window.</li>}
      </ul>
      <dl class="time-figures">
        {t.figures.map((f) => (
          <div key={f.name}>
            <dt>{safe(f.name)}</dt>
            <dd>
              {f.value === undefined ? (
                <span class="faint" title={safe(f.why ?? '')}>
                  <Icon name="unknown" size={12} /> unavailable: {safe(f.why ?? '')}
                </span>
              ) : (
                <>
                  {text(f.value, f.unit)}
                  {f.limit !== undefined && (
                    <>
                      {' '}
                      <span class="dim">of {figure(f.limit, '').value}
                      </span> <Bar share={f.value / f.limit} width={64} />
                    </>
                  )}
                </>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}

function Tree({ nodes }: { nodes: Node[] }) {
  return (
    <ul class="tree">
      {nodes.map((n, i) => (
        <li key={i}><span>{safe(n.text)}</span>{n.then && n.then.length > 0 && <Tree nodes={n.then} />}</li>
      ))}
    </ul>
  )
}


// One experiment: what came out, in the table and pictures of its report, with everything it is based on.
import { useEffect, useState } from 'preact/hooks'
import { asError, go, href, moment, post, seconds, setParams, span, useGet, useParam, whyNot, withParams,
  type ApiError } from '../../core'
import { rememberTask, useTask } from '../../core/tasks'
import { Badge, Button, Copy, Crumb, Empty, Icon, Menu, Notice, Page, Problem, ReportLink, safe, Show,
  toast } from '../../kit'
import { Fold, useCut } from '../../kit/fold'
import { Grid, useValue } from './grid'
import { Forest, Ladder, Strips, SweepPicture, stepsOf } from './pictures'
import { figureOf } from './scale'
import { Facts, TextRows } from './texttable'
import { Said, State, Tallies, Verdict, meanings, toneOf } from './words'
import type { LabExperiment as Experiment, LabLive as Live, Laid, Task } from '../../core/openapi.gen'

export function ExperimentPage({ id }: { id: string }) {
  const [other] = useParam('with')
  // One that has ended does not change; one that runs grows with each trial.
  const data = useGet('experiment', { id }, { every: (v) => (v?.state === 'running' ? 2000 : 0) })
  const x = data.value
  const gone = data.error?.status === 404
  return (
    <Page title={`Experiment ${id}`} actions={x && <Actions x={x} reload={data.reload} />}>
      <Crumb href={href('experiments', {}, ['target'])}>All experiments</Crumb>
      {gone && !x ? (
        <Empty icon="experiments" title={`No experiment has the id ${safe(id)}`}
          hint="It was removed, or the link comes from another Dyno: experiments are kept in Dyno's home."
          action={<a class="button b-main" href={href('experiments', {}, [])}>All experiments</a>} />
      ) : data.error && !x && data.error.status === 409 ? <Damaged id={id} error={data.error} />
        : other ? <Beside id={id} other={other} />
        : <Show of={data} lines={8} what={`Experiment ${id}`}>{(v) => <One x={v} reload={data.reload} />}</Show>}
    </Page>
  )
}

function Damaged({ id, error }: { id: string; error: ApiError }) {
  return (
    <div class="stack">
      <Problem error={error} what={`Experiment ${id}`} />
      <p class="dim">
        This experiment is damaged, or from a newer version of Dyno. Its files are unchanged. <code>dyno report {id}
        </code> shows the report written when it ended, if any.
      </p>
    </div>
  )
}

function Actions({ x, reload }: { x: Experiment; reload: () => void }) {
  const [busy, setBusy] = useState(false)
  const resume = async () => {
    setBusy(true)
    try {
      rememberTask(await post('experiment/resume', { id: x.id }))
      reload()
    } catch (e) {
      toast(asError(e).message, 'bad')
    } finally {
      setBusy(false)
    }
  }
  return (
    <span class="row">
      {x.state === 'interrupted' && x.kind === 'experiment' && (
        <Button icon="play" kind="main" disabled={busy} why={whyNot()} onClick={() => void resume()}>Resume</Button>
      )}
      {x.trials > 0 && x.state !== 'running' && <CompareWith x={x} />}
      {x.state !== 'running' && <ReportLink button id={x.id}>Report</ReportLink>}
    </span>
  )
}

/** Offers the experiments that this one may be compared with: those of the same name first. */
function CompareWith({ x }: { x: Experiment }) {
  return (
    <Menu label="Compare with another experiment" text="Compare with" align="right">
      {(close) => <Others x={x} close={close} />}
    </Menu>
  )
}

function Others({ x, close }: { x: Experiment; close: () => void }) {
  const data = useGet('experiments')
  return (
    <Show of={data} lines={3}>
      {(v) => {
        const all = v.experiments.filter(
          (e) => e.id !== x.id && e.name === x.name && e.trials > 0 && e.state !== 'damaged')
        if (all.length === 0)
          return <p class="lab-menu-text dim">No other experiment has the plan {x.name || 'of this one'}
          . Run it again to compare both.</p>
        return (
          <ul class="menu-list">
            {all.slice(0, 30).map((e) => (
              <li key={e.id}>
                <a href={withParams({ with: e.id, cell: null })} onClick={close}>
                  <b>{e.id}</b> <span class="dim">{moment(seconds(e.started), { date: true, seconds: false })}
                    , {e.trials} trials</span>
                </a>
              </li>
            ))}
          </ul>
        )
      }}
    </Show>
  )
}

/** Two experiments against each other: one table when their plans allow it, else each its own. */
function Beside({ id, other }: { id: string; other: string }) {
  const both = useGet('experiment', { id, with: other })
  const apart = both.error !== undefined && both.value === undefined
  return (
    <>
      <div class="row wrap lab-beside-head">
        <h2>{safe(id)} compared with {safe(other)}</h2>
        <Button small icon="close" onClick={() => setParams({ with: null })}>Close comparison</Button>
      </div>
      {apart ? (
        <>
          <Notice tone="warn">
            <b>They cannot be compared.
            </b> {safe(both.error?.message ?? '')} Both are shown below, each with its own baseline.
          </Notice>
          <div class="lab-beside"><Alone id={id} /><Alone id={other} /></div>
        </>
      ) : (
        <Show of={both} lines={8}>
          {(v) => (
            <>
              <Notice tone="info">
                They were measured separately, not interleaved: the ratios include any difference between machines and
                times. {id} is the baseline.</Notice>
              <Body x={v} />
            </>
          )}
        </Show>
      )}
    </>
  )
}

function Alone({ id }: { id: string }) {
  const data = useGet('experiment', { id })
  return (
    <section>
      <h2><a href={href('experiments', { id }, [])}>{safe(id)}</a></h2>
      <Show of={data} lines={6}>{(v) => <><p class="dim">{safe(v.sentence ?? '')}</p><Grid x={v} /></>}</Show>
    </section>
  )
}

function One({ x, reload }: { x: Experiment; reload: () => void }) {
  return (
    <>
      <header class="lab-head">
        <h2 class="lab-question">{safe(x.title ?? x.id)}</h2>
        <p class="lab-meta">
          <State state={x.state} title={x.stopped} />
          {x.kind === 'side by side' && <Badge tone="unknown" icon={false}>side by side</Badge>}
          {x.recipe && (
            <a href={href('experiments', { recipe: x.recipe, scale: x.scale }, [])}>
              recipe {x.recipe}
              {x.scale ? `, ${x.scale}` : ''}
            </a>
          )}
          {!x.recipe && x.name && <span>plan {safe(x.name)}</span>}
          <span>{moment(seconds(x.started), { date: true, seconds: false })}</span>
          {x.ended && x.trials > 0 && <span>took {span(Math.max(0, seconds(x.ended) - seconds(x.started)))}</span>}
          {x.laid.trials && <span>{x.laid.trials.replace(/\.$/, '')}</span>}
          {x.dyno && <span>Dyno {x.dyno}</span>}
        </p>
        {x.about && <p class="lab-about">{safe(x.about)}</p>}
      </header>
      {x.state === 'running' && <Running x={x} live={x.live} reload={reload} />}
      {x.state === 'interrupted' && (
        <Notice tone="warn">
          <b>Ended early:</b> {safe(x.stopped ?? '')}. Completed trials are kept
            {x.kind === 'experiment' ? ', and it can be resumed' : ''}.
        </Notice>
      )}
      {(x.warnings ?? []).map((w) => <Notice key={w} tone="warn">{safe(w)}</Notice>)}
      {x.state === 'running' && <Notice tone="info">
        Preliminary: verdicts below cover the trials so far, and “invalid” may only mean too few pairs.</Notice>}
      <Body x={x} />
    </>
  )
}

/** An experiment under way: what it does, how long it will take, how to stop it. */
function Running({ x, live, reload }: { x: Experiment; live: Live | undefined; reload: () => void }) {
  const t = useTask(live?.task)
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    if (t && t.state !== 'running') reload()
  }, [t?.state])
  const stop = async () => {
    setBusy(true)
    try {
      if (live) await post('task/cancel', { id: live.task })
    } catch (e) {
      toast(asError(e).message, 'bad')
      setBusy(false)
    }
  }
  if (!live)
    return (
      <Notice tone="info">
        <b>Running</b> in process {x.pid ?? '?'} on this machine. The table is updated after each trial.
      </Notice>
    )
  return (
    <TaskCard task={t} head={
        <>
          trial <b>{live.n}</b> of at most <b>{live.most}</b>, round {live.round}
          {live.left_seconds !== undefined && <span class="dim"> · at most {span(live.left_seconds)} left</span>}
        </>
      }
      stop={
        <Button small kind="danger" icon="stop" why={whyNot() || (busy ? 'stopping' : '')} onClick={() => void stop()}>
          {busy ? 'Stopping…' : 'Stop'}
        </Button>
      } />
  )
}

/** A task as it goes: its step, its bar, its last notes. */
function TaskCard(
  { task, head, stop }: { task: Task | undefined; head?: preact.ComponentChildren; stop?: preact.ComponentChildren }) {
  const f = task?.fraction
  return (
    <section class="panel lab-live-card" aria-label="Progress">
      <div class="body">
        <div class="row"><Icon name="play" /><span class="grow">{head}</span>{stop}</div>
        <div class="lab-live-bar" role="progressbar" aria-label="progress" aria-valuemin={0} aria-valuemax={100}
          {...(f === undefined ? {} : { 'aria-valuenow': Math.round(f * 100) })}>
          <span style={{ width: `${Math.round((f ?? 0) * 1000) / 10}%` }} />
        </div>
        <p class="dim lab-live-step" role="status">{safe(task?.step ?? 'starting')}</p>
        {task?.notes && task.notes.length > 0 && (
          <details>
            <summary>Events ({task.notes.length})</summary>
            <ol class="lab-live-notes">
              {[...task.notes].reverse().slice(0, 60).map((n, i) => (
                <li key={i}><span class="faint">{moment(seconds(n.at), { seconds: true })}</span> {safe(n.text)}</li>
              ))}
            </ol>
          </details>
        )}
      </div>
    </section>
  )
}

/** Everything that came out. */
function Body({ x }: { x: Experiment }) {
  const { laid } = x
  const at = useValue(laid)
  const rounds = x.runs.reduce((a, t) => Math.max(a, t.round), 0)
  const steps = stepsOf(laid)
  const money = laid.lists.filter((l) => l.title === 'Money')
  const further = laid.lists.filter((l) => l.title !== 'Money')
  const first = laid.values[0]
  const margin = laid.sweeps.find((s) => s.margin)?.margin ?? 0
  return (
    <>
      <section class="lab-outcome" aria-label="Outcome">
        {x.trials > 0 && x.sentence && <p class="lab-sentence">{safe(x.sentence)}</p>}
        {x.trials > 0 && <Tallies tally={laid.tally} />}
        <ul class="lab-remarks">
          {laid.control.text && (
            <li class={`lab-remark${laid.control.odd ? ' lab-odd' : ''}`}>
              <span class={`lab-verdict-sign ${toneOf(laid.control.word)}`}>
                {laid.control.sign || <Icon name="info" size={13} />}</span>
              <span>{laid.control.text}.</span>
            </li>
          )}
          {laid.speed && <Said>{laid.speed + '.'}</Said>}
          {x.remarks.filter((r) => !r.startsWith('Ended early: ')).map((r) => <Said key={r}>{r}</Said>)}
        </ul>
      </section>
      {laid.also_differs.length > 0 && (
        <section class="panel lab-differs" aria-labelledby="differs-head">
          <header>
            <Icon name="warn" />
            <h2 id="differs-head">Also differs</h2>
            <span class="dim">not varied on purpose; it may explain the difference</span>
          </header>
          <Facts of={laid.also_differs} class="body" />
        </section>
      )}
      <section class="section" aria-label="Results">
        <header class="row wrap lab-table-head">
          <h2 class="grow">{at === 0 ? laid.title : laid.values[at]?.head}</h2>
          {laid.values.length > 1 && (
            <div class="lab-choice" role="group" aria-label="Value of the table">
              {laid.values.map((v, i) => (
                <Button key={v.name} small pressed={i === at}
                  onClick={() => setParams({ value: i === 0 ? null : v.name }, { replace: true })}>
                  {v.head}
                </Button>
              ))}
            </div>
          )}
        </header>
        <Grid x={x} />
        {at > 0 && <p class="faint lab-note">Verdicts are based on {first?.title}
          . These ratios have their own 95 % intervals, not corrected for multiple comparisons.</p>}
        <ul class="lab-legend">{laid.legend.map((l) => <li key={l}>{l}</li>)}</ul>
        <CellDetail x={x} at={at} />
        <TextValues laid={laid} />
        {laid.remarks.length > 0 && (
          <div class="panel lab-remark-panel">
            <h3>Notes on these figures</h3>
            <ul class="lab-remarks">
              {laid.remarks.map((r, i) => (
                <Said key={i} sign={r.sign} word={r.word} label={r.label}>{safe(r.text ?? '')}</Said>
              ))}
            </ul>
            {[...new Set(laid.tally.map((t) => t.word))].filter((w) => w === 'unstable' || w === 'invalid').map((w) => (
              <p key={w} class="dim"><b>{w}</b>: {meanings[w]}</p>
            ))}
          </div>
        )}
      </section>
      {(laid.sweeps.length > 0 || laid.rungs.length > 1 || laid.strips.length > 0) && (
        <section class="section" aria-label="Charts">
          <div class="lab-pictures">{laid.sweeps.map((s, i) => <SweepPicture key={i} sweep={s} />)}</div>
          {steps && <Ladder steps={steps} axis={laid.row_axes[0] ?? laid.column_axes[0] ?? ''} />}
          {laid.rungs.filter((r) => !r.head).length > 1 &&
            <Forest rungs={laid.rungs} unit={`ratio of ${first?.title ?? 'the value'} to the baseline`}
            margin={margin} />}
          {laid.strips.length > 0 && <StripGroups laid={laid} rounds={rounds} />}
        </section>
      )}
      {laid.published && (
        <section class="section"><h2>{laid.published.title}</h2><TextRows table={laid.published} /></section>
      )}
      {money.map((l) => <section key={l.title} class="section"><h2>{l.title}</h2><TextRows table={l} /></section>)}
      <section class="section lab-more" aria-label="Details">
        {further.map((l) => <Fold key={l.title} head={l.title}>{() => <TextRows table={l} />}</Fold>)}
        {laid.verdicts && <Fold head={laid.verdicts.title}>{() => laid.verdicts && <TextRows table={laid.verdicts} />}
        </Fold>}
        {laid.said.length > 0 && <Fold head={`Texts: plans and readings (${laid.said.length})`}>
          {() => <Texts of={laid.said} />}</Fold>}
        {x.runs.length > 0 && <AllTrials x={x} />}
        <Fold head="How it was measured">{() => <Facts of={laid.method} />}</Fold>
        <Environment laid={laid} />
        {x.plan_text && (
          <ThePlan text={x.plan_text}>
            {x.scale && <>scale {x.scale} </>}
            {Object.entries(x.axes ?? {}).map(([k, v]) => safe(`--axis ${k}=${v?.join(',')}`)).join(
              ' ')} {Object.entries(x.set ?? {}).map(([k, v]) => safe(`--set ${k}=${v}`)).join(' ')}
          </ThePlan>
        )}
      </section>
    </>
  )
}

function Texts({ of }: { of: Laid['said'] }) {
  const [texts, rest] = useCut(of)
  return (
    <>
      {texts.map((s, i) => (
        <div key={i} class="lab-said">
          <p><b>{safe(s.name)}</b> <span class="dim">in {safe(s.for)}</span></p>
          <pre tabIndex={0}>{safe(s.text)}</pre>
        </div>
      ))}
      {rest}
    </>
  )
}

/** A plan as it was written, to copy, with a remark. */
export function ThePlan({ text, children }: { text: string; children: preact.ComponentChildren }) {
  return (
    <Fold head="The plan">
      {() => (
        <>
          <div class="row lab-plan-copy">
            <Copy text={text} label="Copy the plan" />
            <span class="dim">{children}</span>
          </div>
          <pre class="lab-plan" tabIndex={0} aria-label="plan">{safe(text)}</pre>
        </>
      )}
    </Fold>
  )
}

const stripsShown = 14

function StripGroups({ laid, rounds }: { laid: Laid; rounds: number }) {
  const [more, setMore] = useState(false)
  const all = laid.strips
  return (
    <>
      <Strips strips={more ? all : all.slice(0, stripsShown)} rounds={rounds} />
      {all.length > stripsShown && (
        <Button small onClick={() => setMore(!more)}>{more ? 'Fewer strips' : `All ${all.length} strips`}</Button>
      )}
    </>
  )
}

/** Values that are short texts have a table of their own. */
function TextValues({ laid }: { laid: Laid }) {
  if (laid.texts.length === 0) return null
  const cells = new Map(laid.cells.map((c) => [`${c.row}/${c.column}`, c]))
  return (
    <>
      {laid.texts.map((v) => (
        <Fold key={v.name} open={laid.texts.length < 3} head={v.head}>
          {() => (
            <TextRows table={{
                title: v.head, left: laid.row_axes.length + laid.columns.length,
                head: [...(laid.row_axes.length ? laid.row_axes : ['']),
                  ...laid.columns.map((c) => c.join(' · ') || v.head)],
                rows: laid.rows.map((r, i) =>
                  [...(r.length ? r : ['']),
                  ...laid.columns.map((_, k) => cells.get(`${i}/${k}`)?.texts?.[v.name] ?? '–')]),
              }} />
          )}
        </Fold>
      ))}
    </>
  )
}

/** One cell in full: the verdict with its reasons, every value, every trial. */
function CellDetail({ x, at }: { x: Experiment; at: number }) {
  const [key, setKey] = useParam('cell')
  const c = x.laid.cells.find((y) => y.variant === key)
  if (!c) return null
  const v = x.laid.values[at]
  const trials = x.runs.filter((t) => t.variant === c.variant)
  const top = trials.reduce((a, t) => Math.max(a, t.values?.[v?.name ?? ''] ?? 0), 0)
  return (
    <section class="panel lab-cell-detail" aria-label={`Detail of ${safe(c.label)}`}>
      <header>
        <h3 class="grow">{safe(c.label)}</h3>
        <Verdict sign={c.sign} word={c.word} />
        <Button small kind="quiet" icon="close" label="Close" onClick={() => setKey(null, { replace: true })} />
      </header>
      <div class="body lab-cell-body">
        <div>
          <p class="dim">
            {c.against ? `compared with ${safe(c.against)}`
            : c.baseline ? 'baseline for other variants' : 'not compared'}</p>
          {c.word && meanings[c.word] && <p>{meanings[c.word]}</p>}
          {c.failed && <p class="tone-bad">{safe(c.failed)}</p>}
          {(c.reasons ?? []).length > 0 && (
            <ul class="lab-bullets">{(c.reasons ?? []).map((r) => <li key={r}>{safe(r)}</li>)}</ul>
          )}
          <table class="lab-plain">
            <thead>
              <tr>
                <th scope="col">value</th>
                <th scope="col" class="num">centre</th>
                <th scope="col" class="num">interval</th>
                <th scope="col" class="num">n</th>
                <th scope="col" class="num">ratio</th>
                <th scope="col" class="num">interval</th>
              </tr>
            </thead>
            <tbody>
              {x.laid.values.map((y, i) => (
                <tr key={y.name}>
                  <th scope="row">{y.head}</th>
                  <td class="num">{c.figures[i]?.value}</td>
                  <td class="num dim">{c.figures[i]?.interval}</td>
                  <td class="num dim">{c.figures[i]?.n || ''}</td>
                  <td class="num">{c.figures[i]?.ratio}</td>
                  <td class="num dim">{c.figures[i]?.bounds}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <table class="lab-plain">
          <thead>
            <tr>
              <th scope="col">trial</th>
              <th scope="col">round</th>
              <th scope="col" class="num">{v?.head}</th>
              <th scope="col"><span class="hide">as a bar</span></th>
            </tr>
          </thead>
          <tbody>
            {trials.map((t) => {
              const y = t.values?.[v?.name ?? '']
              return (
                <tr key={t.seq} class={t.invalid ? 'lab-off' : ''}>
                  <td>{t.seq}</td>
                  <td>{t.round}{t.control ? ', control' : ''}</td>
                  <td class="num">{figureOf(y, v?.unit)}</td>
                  <td class="lab-trial-bar">{t.invalid ? <span class="tone-warn">excluded: {safe(t.invalid)}</span>
                    : <span style={{ width: `${top > 0 && y !== undefined ? (y / top) * 100 : 0}%` }} />}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function AllTrials({ x }: { x: Experiment }) {
  const name = new Map(x.laid.cells.map((c) => [c.variant, c.label]))
  const start = seconds(x.runs[0]?.from ?? x.started)
  return (
    <Fold head={`All trials (${x.runs.length})`}>
      {() => (
        <TextRows table={{
            title: 'All trials', left: 3,
            head: ['trial', 'round', 'variant', 'after', 'set up', 'warm-up', 'measured',
              ...x.laid.values.map((v) => v.head), 'remarks'],
            rows: x.runs.map((t) => [
              String(t.seq), String(t.round), (name.get(t.variant) ?? t.variant) +
                (t.control ? ' (against itself)' : ''), span(Math.max(0, seconds(t.from) - start)),
              `${t.setup_seconds.toFixed(1)} s`, `${t.warm_seconds.toFixed(1)} s`,
                `${(seconds(t.to) - seconds(t.from)).toFixed(1)} s`,
              ...x.laid.values.map((v) => figureOf(t.values?.[v.name], v.unit)),
              [t.invalid ? 'excluded: ' + t.invalid : '',
                ...Object.entries(t.errors ?? {}).map(([k, n]) => `${n} × error ${k}`), ...(t.warnings ?? [])].filter(
                Boolean).join('; '),
            ]),
          }}
          tail={1} />
      )}
    </Fold>
  )
}

function Environment({ laid }: { laid: Laid }) {
  const n = laid.environment.reduce((a, g) => a + g.facts.length, 0)
  return (
    <>
      {laid.explained.length > 0 && (
        <Fold head={`Set or implied by the plan (${laid.explained.length})`}>{() => <Facts of={laid.explained} />}
        </Fold>
      )}
      {n > 0 && (
        <Fold head={`Environment, the same in all trials (${n} facts)`}>
          {() => (
            <>
              {laid.environment.map((g) => (
                <Fold key={g.name} open={g.facts.length <= 40} head={`${g.name} (${g.facts.length})`}>
                  {() => <Facts small of={g.facts} />}
                </Fold>
              ))}
              {laid.unread.map((u) => <p key={u} class="dim">{safe(u)}</p>)}
            </>
          )}
        </Fold>
      )}
    </>
  )
}

/** A task that has no experiment yet: it is being prepared. As soon as there is one the page goes there. */
export function TaskPage({ id }: { id: string }) {
  const task = useGet('task', { id }, { every: 1000 })
  const list = useGet('experiments', {}, { every: 1000 })
  const t = task.value
  const found = t?.result || list.value?.experiments.find((e) => e.task === id)?.id
  useEffect(() => {
    if (found) go(href('experiments', { id: found }, ['target']), { replace: true })
  }, [found])
  return (
    <Page title="Starting experiment">
      {task.error?.status === 404 ? (
        <Empty icon="experiments" title="Task not found"
          hint="Tasks are forgotten when Dyno restarts. Their results are kept: see the list of experiments."
          action={<a class="button b-main" href={href('experiments', {}, [])}>All experiments</a>} />
      ) : (
        <Show of={task} lines={4}>
          {(v) =>
            v.state === 'failed' ? (
              <div class="stack">
                <Notice tone="bad">
                  <b>{safe(v.title)} failed.
                  </b> {safe(v.error ?? '')} {v.hint && <span class="dim">{safe(v.hint)}</span>}
                </Notice>
                <a href={href('experiments', { tab: 'recipes' }, [])}>Back to recipes</a>
              </div>
            ) : v.state === 'cancelled' ? (
              <Notice tone="warn">
                <b>{safe(v.title)}</b> was stopped before its first trial ended. Nothing was measured.
              </Notice>
            ) : <TaskCard task={v} head={<b>{safe(v.title)}</b>} />
          }
        </Show>
      )}
    </Page>
  )
}

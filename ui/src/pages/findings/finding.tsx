// One finding, from its verdict to what would show that it is wrong.
import type { ComponentChildren } from 'preact'
import { ago, moment, post, ratio, seconds, useGet, whyNot } from '../../core'
import { Badge, Button, Copy, Icon, Problem, safe, Sql, useRun, type IconName, type Tone } from '../../kit'
import { ClassCard, Fact, Gain, Share } from './pictures'
import type { DiagnosisDetail, Finding, OpenFinding as Open } from '../../core/openapi.gen'

const severities: Record<Finding['severity'], [Tone, IconName, string]> = {
  critical: ['bad', 'bad', 'Critical'],
  warning: ['warn', 'warn', 'Warning'],
  notice: ['info', 'info', 'Notice'],
  fact: ['unknown', 'info', 'Fact'],
}

function SeverityBadge({ severity }: { severity: Finding['severity'] }) {
  const [tone, icon, word] = severities[severity]
  return <Badge tone={tone} icon={icon}>{word}</Badge>
}

const sure = {
  certain: 'exact counts and the server\'s own plan agree',
  likely: 'the counts or the plan are estimated or missing',
  possible: 'indirect evidence only',
}

const tests: Record<string, [Tone, string]> = {
  better: ['good', 'Tested: better'], worse: ['bad', 'Tested: worse'], same: ['info', 'Tested: no difference'],
  unstable: ['warn', 'Tested: unstable'], invalid: ['unknown', 'Tested: invalid'],
}

export function FindingCard(
  p: { of: DiagnosisDetail; life?: Open | undefined; finding: Finding; apply: () => void; open: boolean; onToggle: () =>
  void; changed?: () => void }) {
  const f = p.finding
  const life = p.life
  return (
    <article class={`finding${p.open ? ' open' : ''}`} id={'finding-' + f.id} data-finding={f.id}>
      <h3>
        <button class="finding-head" type="button" aria-expanded={p.open} onClick={p.onToggle}>
          <Icon name={p.open ? 'down' : 'right'} size={14} />
          <SeverityBadge severity={f.severity} />
          <span class="finding-words">
            <span class="finding-title">{safe(f.title)}</span>
            {life && (
              <span class="finding-life dim">
                in {life.seen_in} of {life.of_diagnoses} {life.of_diagnoses === 1 ? 'diagnosis' : 'diagnoses'}
                  , first seen {ago(seconds(life.first_seen))}, last seen {ago(seconds(life.last_seen))}
                  {life.diagnosis !== p.of.id && ', not in the newest diagnosis'}
                {life.ignored &&
                  (`, ignored until ` +
                    `${moment(seconds(life.ignored.until), { date: true })}${life.ignored.by ? ` by ` +
                      `${safe(life.ignored.by)}` : ''}`)}
              </span>
            )}
          </span>
          <span class="finding-sure dim" title={sure[f.confidence]}>{f.confidence}</span>
          <Share share={f.share} />
        </button>
      </h3>
      {p.open && (life && life.diagnosis !== p.of.id
        ? <Earlier life={life} of={p.of} f={f} apply={p.apply} changed={p.changed} />
        : <Body of={p.of} f={f} life={life} apply={p.apply} changed={p.changed} />)}
    </article>
  )
}

interface BodyProps {
  of: DiagnosisDetail
  f: Finding
  life: Open | undefined
  apply: () => void
  changed?: (() => void) | undefined
}

/** A finding that an earlier diagnosis reports: its statements are in that one. */
function Earlier(p: BodyProps & { life: Open }) {
  const d = useGet('diagnosis', { id: p.life.diagnosis })
  return <Body {...p} of={d.value ?? { ...p.of, classes: {} }} />
}

/** Takes a finding from those that are open, or brings it back. */
function Ignore({ target, life, changed }: { target: string; life: Open; changed: () => void }) {
  const { error, busy, run } = useRun()
  const ignore = (days: number) => void run(async () => {
    await post('finding/ignore', { target, finding: life.finding.id, seconds: days * 86400 })
    changed()
  })
  const why = whyNot() || (busy ? 'saving' : '')
  return (
    <>
      <div class="row wrap">
        {life.ignored ? <Button small why={why} onClick={() => ignore(0)}>Stop ignoring</Button> : (
          <>
            <Button small why={why} onClick={() => ignore(7)}>Ignore for 7 days</Button>
            <Button small why={why} onClick={() => ignore(90)}>Ignore for 90 days</Button>
          </>
        )}
      </div>
      {error && <Problem error={error} />}
    </>
  )
}

function Body({ of, f, life, apply, changed }: BodyProps) {
  const classes = (f.subject?.classes ?? []).map((id) => of.classes[id]).filter((c) => c !== undefined)
  const to = Math.ceil(seconds(of.to) / 60) * 60
  // All classes at once, for all cards: a class that nothing is kept of yet is then no error.
  const hour = { target: of.target, from: to - 3600, to, lines: 1 }
  const course = useGet(classes.length > 0 ? 'classes' : null, { ...hour, limit: 200 })
  return (
    <div class="finding-body">
      <div class="finding-main">
        <p class="finding-cause">{safe(f.cause)}</p>
        {(f.evidence ?? []).length > 0 && (
          <Part title="Evidence">
            <ul class="facts">{(f.evidence ?? []).map((e, i) => <Fact key={i} e={e} />)}</ul>
          </Part>
        )}
        {classes.length > 0 && (
          <Part title={classes.length === 1 ? 'Affected query class' : `Affected query classes (${classes.length})`}>
            <div class="stack">
              {classes.slice(0, 3).map((c) => <ClassCard key={c.id} of={of} c={c} hour={hour} all={course} />)}
              {classes.length > 3 && <p class="dim">and {classes.length - 3} more</p>}
            </div>
          </Part>
        )}
        {(f.why ?? []).length > 0 && (
          <Part title="Reasoning, step by step">
            <ol class="why">
              {(f.why ?? []).map((w, i) => (
                <li key={i}>
                  <span class="why-ask">{safe(w.ask)}</span>
                  <span>{safe(w.answer)} {w.source && <span class="faint">({safe(w.source)})</span>}</span>
                </li>
              ))}
            </ol>
          </Part>
        )}
      </div>
      <aside class="finding-side">
        <Change f={f} apply={apply} />
        {life && changed && <Part title="Ignore"><Ignore target={of.target} life={life} changed={changed} /></Part>}
        <Part title="Counter-evidence">
          {(f.against ?? []).length > 0 ? <Lines of={f.against} icon="warn" /> : <p class="dim">None.</p>}
        </Part>
        {f.falsify && <Part title="How to disprove this"><p>{safe(f.falsify)}</p></Part>}
        {(f.not_observable ?? []).length > 0 && (
          <Part title="Not observable"><Lines of={f.not_observable} icon="unknown" /></Part>
        )}
        {(f.merged ?? []).length > 0 && (
          <Part title="Consequences, not counted as findings"><Lines of={f.merged} icon="right" /></Part>
        )}
        <p class="faint finding-foot">
          {f.reference && <>{f.reference}<br /></>}
          {f.valid && <>Applies to {safe(f.valid)}<br /></>}
          <code>{f.id}</code>
        </p>
      </aside>
    </div>
  )
}

function Change({ f, apply }: { f: Finding; apply: () => void }) {
  const lines = (f.config ?? []).join('\n')
  return (
    <section class="change-box" aria-label="What to do">
      <h4>What to do</h4>
      <p class="change-words">{safe(f.suggestion)}</p>
      {f.action?.sql && (
        <>
          <Sql text={f.action.sql + ';'} />
          <div class="row wrap">
            <Button kind="main" why={whyNot()} onClick={apply}>Preview and apply…</Button>
            <Copy text={f.action.sql + ';'} label="Copy SQL" />
          </div>
          {f.action.table && <p class="dim">The preview adds the ALGORITHM and LOCK that this server supports.</p>}
        </>
      )}
      {lines !== '' && (
        <>
          <p class="dim">For <code>{f.file || 'my.cnf'}</code>{f.restart ? ', with a server restart' : ''}</p>
          <Sql text={lines} plain />
          <div class="row"><Copy text={lines} label="Copy lines" /></div>
        </>
      )}
      {f.gain && <Gain gain={f.gain} />}
      {f.tested && (
        <div class="tested">
          {f.tested.result ? <Badge tone={(tests[f.tested.result] ?? ['unknown', ''])[0]}>
            {(tests[f.tested.result] ?? ['', f.tested.result])[1]}</Badge> : <Badge tone="unknown">Not tested</Badge>}
          {f.tested.center !== undefined && (
            <span>
              {ratio(f.tested.center, f.tested.lo, f.tested.hi)} <span class="dim">{safe(f.tested.what ?? '')}</span>
            </span>
          )}
          <p class="dim">{safe(f.tested.text)}</p>
        </div>
      )}
      {f.cost && <p><b>Cost</b> <span class="dim">{safe(f.cost)}</span></p>}
      {f.restart && lines === '' && <Badge tone="warn">Requires a server restart</Badge>}
    </section>
  )
}

function Part({ title, children }: { title: ComponentChildren; children: ComponentChildren }) {
  return <section class="part"><h4>{title}</h4>{children}</section>
}

function Lines({ of, icon }: { of: string[] | undefined; icon: IconName }) {
  return (
    <ul class="lines">
      {(of ?? []).map((x, i) => <li key={i}><Icon name={icon} size={13} /><span>{safe(x)}</span></li>)}
    </ul>
  )
}

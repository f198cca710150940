// Recipes: what each answers, how long it takes, and the start of one.
import { useState } from 'preact/hooks'
import { go, href, post, setParams, span, text, useGet, useParam, whyNot } from '../../core'
import { rememberTask } from '../../core/tasks'
import { Badge, Button, Copy, Crumb, Dialog, Empty, Fold, Icon, Notice, Page, Panel, Problem, safe, Show,
  useRun } from '../../kit'
import { ThePlan } from './experiment'
import { Facts, TextRows } from './texttable'
import { State } from './words'
import type { Fact, LabDryRun as DryRun, LabRecipe as Recipe, LabScale as Scale } from '../../core/openapi.gen'

/** The recipe to begin with: one that needs no server but the one at hand, and shows curves. */
export const first = 'threads'

export function Recipes() {
  const data = useGet('recipes')
  return (
    <>
      <p class="lab-intro">
        A recipe repeats a published measurement on private servers and shows the published figures next to the results
          from this machine.
      </p>
      <Show of={data} lines={8} what="Recipes">
        {(v) => <div class="lab-recipes">{v.recipes.map((r) => <Card key={r.name} r={r} />)}</div>}
      </Show>
    </>
  )
}

/** How long a recipe takes at a scale, setup included. */
function lasts(s: Scale): string {
  if (s.problem) return 'no such scale'
  const most = s.budget_seconds && s.budget_seconds < s.most_seconds ? s.budget_seconds : s.most_seconds
  return span(s.least_seconds) === span(most) ? span(most) : `${span(s.least_seconds)} to ${span(most)}`
}

function Card({ r }: { r: Recipe }) {
  const newest = r.ran[0]
  return (
    <article class="panel lab-recipe">
      <div class="body">
        <h2><a href={href('experiments', { recipe: r.name }, [])}>{r.title}</a></h2>
        <p class="dim">{r.topic}</p>
        <table class="lab-recipe-scales">
          <caption class="hide">Size and time at each scale</caption>
          <thead class="hide">
            <tr><th scope="col">scale</th><th scope="col">variants</th><th scope="col">time</th></tr>
          </thead>
          <tbody>
            {r.scales.map((s) => (
              <tr key={s.scale}>
                <th scope="row">{s.scale}</th>
                <td class="num">{s.variants} variants</td>
                <td class="num">{lasts(s)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <p class="lab-recipe-foot">
          <code>{r.name}</code>
          <span class="faint">{[...new Set(r.scales[0]?.servers ?? [])].join(', ')}</span>
          {newest && (
            <a class="lab-recipe-ran" href={href('experiments', { id: newest.id }, [])}>
              last run {newest.id} <State state={newest.state} />
            </a>
          )}
        </p>
      </div>
      <footer>
        <a class="button b-small" href={href('experiments', { recipe: r.name }, [])}>
          <Icon name="play" />
          <span>Review and run</span>
        </a>
      </footer>
    </article>
  )
}

export function RecipePage({ name }: { name: string }) {
  const [scale, setScale] = useParam('scale', 'small')
  const [asking, setAsking] = useState(false)
  const data = useGet('recipe', { name, scale }, { keep: true })
  const r = data.value
  if (data.error?.status === 404)
    return (
      <Page title="Recipe">
        <Empty icon="experiments" title={`No recipe named ${safe(name)}`}
          hint="Recipes ship with Dyno; a newer version may have it."
          action={<a class="button b-main" href={href('experiments', { tab: 'recipes' }, [])}>All recipes</a>} />
      </Page>
    )
  // What is shown is of the scale before until that of the new one is there.
  const stuck = data.loading ? 'loading' : !r || data.error ? 'the dry run is not available'
    : r.missing.length > 0 ? `not on this machine: ${r.missing.join(', ')}` : (r.problems[0] ?? '')
  const why = whyNot() || stuck
  return (
    <Page title={`Recipe ${name}`}
      actions={<Button kind="main" icon="play" why={why} onClick={() => setAsking(true)}>Run it</Button>}>
      <Crumb href={href('experiments', { tab: 'recipes' }, [])}>All recipes</Crumb>
      <Show of={data} lines={8} what={`Recipe ${name}`}>
        {(v) => (
          <>
            <header class="lab-head">
              <h2 class="lab-question">{v.title}</h2>
              <p class="lab-about">{v.about || v.topic}</p>
            </header>
            <div class="lab-choice" role="group" aria-label="Scale">
              {v.scales.map((s) => (
                <Button key={s.scale} small pressed={s.scale === scale}
                  onClick={() => setScale(s.scale, { replace: true })}>
                  {s.scale}
                </Button>
              ))}
              <span class="dim">about {lasts(v.dry)}, setup included</span>
            </div>
            {v.missing.length > 0 && (
              <Notice tone="warn">
                <b>Not on this machine: {v.missing.join(', ')}.</b> Install them first:
                {v.install.map((c) => (
                  <span key={c} class="row lab-command"><code>{c}</code><Copy text={c} bare /></span>
                ))}
              </Notice>
            )}
            {v.problems.map((p) => <Notice key={p} tone="bad">{safe(p)}</Notice>)}
            {v.warnings.map((p) => <Notice key={p} tone="info">{safe(p)}</Notice>)}
            <div class="lab-two">
              <Panel title="Dry run"><Facts of={would(v)} class="body" /></Panel>
              <Panel title="Published results">
                {v.published.length === 0 ? <p class="body dim">No published figures.</p>
                  : <ul class="lab-bullets body">{v.published.map((p) => <li key={p}>{p}</li>)}</ul>}
              </Panel>
            </div>
            {v.ran.length > 0 && (
              <section class="section">
                <h2>Runs on this machine</h2>
                <ul class="lab-ran">
                  {v.ran.slice(0, 12).map((e) => (
                    <li key={e.id}>
                      <a href={href('experiments', { id: e.id }, [])}>{e.id}
                      </a> {e.scale && <Badge tone="unknown" icon={false}>{e.scale}</Badge>} <State state={e.state} />
                    </li>
                  ))}
                </ul>
              </section>
            )}
            <section class="section lab-more">
              <Fold head={`Variants and their baselines (${v.table.length})`}>
                {() =>
                  <TextRows table={{ title: 'variants', left: 2, head: ['variant', 'compared with'],
                  rows: v.table.map((t) => [t.key, t.against ?? 'baseline']) }} />}
              </Fold>
              <ThePlan text={v.text}>Edit it and run it with <code>dyno compare mine.yaml</code></ThePlan>
            </section>
            {asking && <Start r={v} scale={scale} why={why} onClose={() => setAsking(false)} />}
          </>
        )}
      </Show>
    </Page>
  )
}

const between = ([lo, hi]: [number, number], more = '') => (lo === hi ? `${lo}` : `${lo} to ${hi}${more}`)

/** What a recipe would do at the scale it was asked for. */
function would(v: DryRun): Fact[] {
  const { dry, needs } = v
  const all: [string, string | false][] = [
    ['variants', `${dry.variants}`],
    ['rounds', between(dry.rounds, ', fewer if decided early')],
    ['trials', between(dry.trials)],
    ['per trial', dry.seconds > 0 && `${span(dry.seconds)} measured`],
    ['time', lasts(dry)],
    ['time limit', dry.budget_seconds !== undefined && span(dry.budget_seconds)],
    ['servers', (needs.servers.length ? needs.servers : dry.servers).join(', ')],
    ['disk', needs.disk_bytes !== undefined &&
      `about ${text(needs.disk_bytes, 'B')} of ${text(needs.disk_free_bytes, 'B')} free`],
    ['memory', needs.memory_bytes !== undefined &&
      `about ${text(needs.memory_bytes, 'B')} of ${text(needs.memory_free_bytes, 'B')} available`],
    ['values shown', v.show.join(', ')],
  ]
  return all.flatMap(([name, value]) => (value === false ? [] : [{ name, value }]))
}

/** Asks before a recipe is run: at which scale, how long a trial, and what it does to what is watched. */
function Start({ r, scale, why, onClose }: { r: DryRun; scale: string; why: string; onClose: () => void }) {
  const [time, setTime] = useState('')
  const { busy, error, run: once } = useRun()
  const bad = time !== '' && !/^\d+(\.\d+)?(ms|s|m)$/.test(time)
  const run = () =>
    once(async () => {
      const t = await post('recipe/run', { name: r.name, scale, ...(time ? { set: { 'trials.time': time } } : {}) })
      rememberTask(t)
      onClose()
      go(href('experiments', { task: t.id }, ['target']))
    })
  return (
    <Dialog title={`Run ${r.name}?`} onClose={onClose} foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" icon="play" why={why} disabled={busy || bad} onClick={() => void run()}>
            {busy ? 'Starting…' : 'Run it'}
          </Button>
        </>
      }>
      <div class="stack">
        <p>{r.title}</p>
        <div class="field">
          <span class="label">Scale</span>
          <div class="lab-choice" role="group" aria-label="Scale">
            {r.scales.map((s) => (
              <Button key={s.scale} small pressed={s.scale === scale}
                onClick={() => setParams({ scale: s.scale === 'small' ? null : s.scale }, { replace: true })}>
                {s.scale}
              </Button>
            ))}
          </div>
          <span class="note">{r.dry.variants} variants, {between(r.dry.trials)} trials, {lasts(r.dry)}</span>
        </div>
        {r.dry.seconds > 0 && (
          <div class="field">
            <label for="lab-time">Measured time per trial</label>
            <input id="lab-time" class="input" value={time} placeholder={`${r.dry.seconds}s (from the plan)`}
              aria-invalid={bad} onInput={(e) => setTime(e.currentTarget.value.trim())} />
            <span class="note">
              {bad ? 'Enter a time such as 5s, at least 1s.' : 'Shorter trials finish sooner but decide less.'}</span>
          </div>
        )}
        <Notice tone={r.disturbs.length > 0 ? 'warn' : 'info'}>{r.disturb}</Notice>
        <p class="dim">You can stop it at any time: completed trials are kept, and it can be resumed.</p>
        {error && <Problem error={error} />}
      </div>
    </Dialog>
  )
}

// The lab: experiments, recipes, runs of loads and reports.
import { ago, go, href, moment, seconds, useGet, useParam } from '../../core'
import { Button, Empty, Page, Search, Show, Table, Tabs, safe } from '../../kit'
import { ExperimentPage, TaskPage } from './experiment'
import { RecipePage, Recipes, first } from './recipes'
import { DocumentPage, Documents, RunPage, Runs } from './runs'
import { State, Tallies } from './words'
import './experiments.css'

export function ExperimentsPage() {
  const [id] = useParam('id')
  const [recipe] = useParam('recipe')
  const [task] = useParam('task')
  if (id.startsWith('x-')) return <ExperimentPage key={id} id={id} />
  if (id.startsWith('r-')) return <RunPage key={id} id={id} />
  if (id !== '') return <DocumentPage key={id} id={id} />
  if (recipe !== '') return <RecipePage key={recipe} name={recipe} />
  if (task !== '') return <TaskPage key={task} id={task} />
  return <Lists />
}

function Lists() {
  const [tab] = useParam('tab', 'experiments')
  return (
    <Page title="Experiments">
      <Tabs label="Experiments" items={[
          { key: 'experiments', name: 'Experiments' },
          { key: 'recipes', name: 'Recipes' },
          { key: 'runs', name: 'Load runs' },
          { key: 'reports', name: 'Reports' },
        ]} />
      {tab === 'recipes' ? <Recipes /> : tab === 'runs' ? <Runs />
        : tab === 'reports' ? <Documents /> : <Experiments />}
    </Page>
  )
}

function Experiments() {
  const [q, setQ] = useParam('q')
  const data = useGet('experiments', {}, { every: 5000 })
  return (
    <Show of={data} lines={8} what="Experiments" empty={(v) => v.experiments.length === 0} none={
        <Empty icon="experiments" title="No experiments yet" hint={
            <>
              <p>An experiment runs variants on private servers in random order, round by round, and shows which is
                better, by how much, and whether the difference is significant.</p>
              <p>
                Start with the recipe <b>{first}</b>
                  : how far does a server scale on this machine? It takes under 10 minutes and needs only a MariaDB
                  server.
              </p>
              <p>With your own plan: <code>dyno compare plan.yaml</code></p>
            </>
          }
          action={
            <div class="row">
              <a class="button b-main" href={href('experiments', { recipe: first }, [])}>Start with {first}</a>
              <a class="button" href={href('experiments', { tab: 'recipes' }, [])}>All recipes</a>
            </div>
          } />
      }>
      {(v) => {
        const words = q.toLowerCase().split(/\s+/).filter(Boolean)
        const rows = v.experiments.filter((e) => {
          const s = [e.id, e.name, e.title, e.recipe, e.state, e.sentence].join(' ').toLowerCase()
          return words.every((w) => s.includes(w))
        })
        return (
          <>
            <div class="row wrap lab-bar">
              <Search label="Search experiments" placeholder="Search experiments" />
              <span class="dim grow">
                {rows.length === v.experiments.length ? `${rows.length} experiments`
                  : `${rows.length} of ${v.experiments.length} experiments`}
              </span>
              <Button small icon="play" onClick={() => go(href('experiments', { tab: 'recipes' }, []))}>
                Run a recipe</Button>
            </div>
            <Table label="Experiments" rows={rows} rowKey={(e) => e.id}
              onOpen={(e) => go(href('experiments', { id: e.id }, ['target']))}
              rowClass={(e) => (e.state === 'damaged' ? 'damaged' : '')}
              empty={<Empty title={`No experiment matches "${safe(q)}"`}
                action={<Button onClick={() => setQ(null)}>Show all</Button>} />}
              columns={[
                {
                  key: 'title', head: 'Experiment', value: (e) => e.title ?? e.name ?? e.id, class: 'lab-title',
                  cell: (e) => (
                    <>
                      <a href={href('experiments', { id: e.id }, ['target'])}>{safe(e.title || e.name || e.id)}</a>
                      <span class="lab-sub">
                        {e.id}
                        {e.recipe ? ` · recipe ${e.recipe}${e.scale ? ', ' + e.scale : ''}`
                          : e.name ? ` · ${safe(e.name)}` : ''}
                      </span>
                    </>
                  ),
                },
                { key: 'state', head: 'State', value: (e) => e.state,
                  cell: (e) => <State state={e.state} title={e.stopped || e.problem} /> },
                {
                  key: 'verdicts', head: 'Verdicts',
                  cell: (e) =>
                    e.state === 'damaged' ? <span class="tone-bad">{safe(e.problem ?? 'cannot be read')}</span> : (
                      <>
                        <Tallies tally={e.tally} />
                        {e.stopped && <span class="lab-sub">ended early: {safe(e.stopped)}</span>}
                      </>
                    ),
                },
                {
                  key: 'started', head: 'Started', value: (e) => e.started, first: 'down',
                  cell: (e) => (
                    <span class="nowrap" title={ago(seconds(e.started))}>
                      {moment(seconds(e.started), { date: true, seconds: false })}
                    </span>
                  ),
                },
                { key: 'variants', head: 'Variants', align: 'right', value: (e) => e.variants,
                  cell: (e) => e.variants || '–' },
                { key: 'trials', head: 'Trials', align: 'right', value: (e) => e.trials, cell: (e) => e.trials },
              ]} />
          </>
        )
      }}
    </Show>
  )
}

export default ExperimentsPage

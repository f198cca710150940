// The statements that give an account what a task needs, and no more.
import { useEffect, useState } from 'preact/hooks'
import { useGet } from '../../core/data'
import { Copy, Show, Sql } from '../../kit'
import { flavorName, script } from './words'

const ofPostgres: Record<string, string> = {
  watch: 'Watch: statistics, settings and sessions. No data.',
  explain: 'Explain: also EXPLAIN statements in the named schemas, which needs to be able to read their data.',
  change: 'Change: add and drop indexes in the named schemas, and end sessions that are in the way.',
  load: 'Load: run workloads in the named schemas.',
}

const tasks: Record<string, string> = {
  watch: 'Watch: counters, digests and the processlist. No data.',
  explain: 'Explain: also EXPLAIN statements in the named schemas, which reads their data.',
  change: 'Change: add and drop indexes in the named schemas. No data. To set variables, also grant ' +
    'SYSTEM_VARIABLES_ADMIN (MySQL 8.0) or SUPER.',
  load: 'Load: run workloads in the named schemas.',
}

export function Grants({ flavor: of, account }: { flavor: string; account: string | undefined }) {
  const [task, setTask] = useState('watch')
  const [flavor, setFlavor] = useState(of || 'mysql')
  const [typed, setUser] = useState<string>()
  const pg = flavor === 'postgres'
  const user = typed ?? account ?? (pg ? 'dyno' : 'dyno@localhost')
  const [written, setSchemas] = useState<string>()
  useEffect(() => {
    if (of) setFlavor(of)
  }, [of])
  const schemas = written ?? (pg ? 'public' : 'shop')
  const named = schemas.split(/[\s,]+/).filter(Boolean)
  const needs = task === 'explain' || task === 'change' || task === 'load'
  const params = { task, flavor, user: user.trim(), schema: needs ? named : [] }
  const data = useGet('grants', params, { keep: true })
  const pick = (set: (v: string) => void) =>
    (e: Event & { currentTarget: HTMLInputElement | HTMLSelectElement }) => set(e.currentTarget.value)
  return (
    <div class="stack grants">
      <div class="form-row">
        <label class="field">
          <span class="label">Task</span>
          <select class="input" value={task} onChange={pick(setTask)}>
            {Object.keys(tasks).map((t) => <option key={t} value={t}>{t}</option>)}
          </select>
        </label>
        <label class="field">
          <span class="label">Server</span>
          <select class="input" value={flavor} onChange={pick(setFlavor)}>
            {(of === 'postgres' ? [of] : ['mariadb', 'mysql', 'percona', 'postgres']).map((f) => (
              <option key={f} value={f}>{flavorName(f)}</option>
            ))}
          </select>
        </label>
        <label class="field">
          <span class="label">Account</span>
          <input class="input" value={user} spellcheck={false} onInput={pick(setUser)} />
        </label>
        {needs && (
          <label class="field">
            <span class="label">Schemas</span>
            <input class="input" value={schemas} spellcheck={false} onInput={pick(setSchemas)} />
          </label>
        )}
      </div>
      <p class="dim">{pg ? ofPostgres[task] : tasks[task]} The account must exist.</p>
      <Show of={data} lines={3}>
        {(v) => <div class="statement"><Sql text={script(v.statements)} /><Copy text={script(v.statements)} /></div>}
      </Show>
    </div>
  )
}

// How long what is kept, what it takes, and what it will take.
import { useState } from 'preact/hooks'
import { ago, post, seconds, span, text, whyNot } from '../../core'
import { Bar, Button, Confirm, Copy, Empty, Figure, narrow, Notice, Num, safe, Table, toast,
  type Column } from '../../kit'
import { sharesOf, stillToCome, sum, type ShareOf } from './keeping'
import type { Keeping, Settings } from '../../core/openapi.gen'

const about: Record<string, string> = {
  'series, every second': 'one value per second of every metric',
  'series, by the minute': 'the same per minute',
  states: 'sessions, locks and transactions, every second',
  'states of incidents': 'the worst seconds of each incident',
  classes: 'query classes by the minute, hour and day',
  distributions: 'how long statements took, by the minute, hour and day',
  locks: 'deadlocks and lock waits',
  plans: 'execution plans when they change',
  examples: 'examples of statements',
  events: 'restarts, changes, incidents, notes',
  incidents: 'what went wrong: conditions and findings, with begin and end',
  'diagnoses and reports': 'diagnoses with their snapshots, reports',
  journal: 'actions with their undo: never deleted',
  ledger: 'targets, runs, the file itself',
  users: 'users, sessions, tokens, the audit log',
  'log and free pages': 'write-ahead log and free pages of the history',
  reports: 'recordings of reports',
}

const most = (k: Keeping) => (k.limit_bytes === undefined ? 'None' : text(k.limit_bytes, 'B'))

const columns = (change: (k: Keeping) => void, limit: (k: Keeping) => void): Column<Keeping>[] => [
  {
    key: 'kind', head: 'What',
    cell: (k) => <div class="stack tight"><b>{k.kind}</b><span class="faint">{about[k.kind]}</span></div>,
  },
  { key: 'bytes', head: 'Size', align: 'right', value: (k) => k.bytes, cell: (k) => <Num v={k.bytes} unit="B" /> },
  { key: 'since', head: 'Since', align: 'right',
    cell: (k) => <span class="dim nowrap">{k.oldest ? ago(seconds(k.oldest)) : '–'}</span> },
  {
    key: 'day', head: 'Growth per day', align: 'right', value: (k) => k.growth_bytes_per_day,
    cell: (k) => (k.growth_bytes_per_day === undefined ? <span class="faint nowrap">not measured yet</span>
      : <Num v={k.growth_bytes_per_day} unit="B" />),
    title: 'size divided by the time it covers; available after 1 h',
  },
  {
    key: 'kept', head: 'Retention', align: 'right', value: (k) => k.keep_days,
    cell: (k) => <span class="nowrap">{k.keep_days === undefined ? 'forever' : span(k.keep_days * 86400)}</span>,
  },
  { key: 'limit', head: 'Max size', align: 'right', value: (k) => k.limit_bytes,
    cell: (k) => k.limit_name === undefined || k.limit_fixed || k.kind === 'examples' ? (
      <Num v={k.limit_bytes} unit="B" />
    ) : (
      <Button small label={`${most(k)}: change the maximum size of ${k.kind}`} why={whyNot()} onClick={() => limit(k)}>
        {most(k)}</Button>
    ) },
  { key: 'full', head: 'Full in', align: 'right', value: (k) => k.full_in_days,
    cell: (k) => <span class="nowrap">{k.full_in_days === undefined ? '–' : span(k.full_in_days * 86400)}</span>,
    title: 'when the maximum size is reached at the measured growth, if age does not delete the oldest before' },
  { key: 'will', head: 'Projected size', align: 'right', value: (k) => k.will_take_bytes,
    cell: (k) => <Num v={k.will_take_bytes} unit="B" />,
    title: 'at the measured growth, once its retention time is reached' },
  {
    key: 'flag', head: 'Set by',
    cell: (k) =>
      k.flag === undefined ? <span class="faint">–</span> : k.fixed ? (
        <span class="row nowrap" title="Fixed by a flag that dyno serve was started with">
          <code>{k.flag}</code> <Copy text={`dyno serve ${k.flag}=${days(k)}d`} bare
            label={`Copy dyno serve ${k.flag}`} />
        </span>
      ) : ['plans', 'examples', 'states of incidents'].includes(k.kind) ? <span class="dim">classes</span> : (
        <Button small label={`Change retention of ${k.kind}`} why={whyNot()} onClick={() => change(k)}>Change</Button>
      ),
  },
]

const shareColumns: Column<ShareOf>[] = [
  { key: 'target', head: 'Target', cell: (x) => x.first && <b>{safe(x.target)}</b> },
  { key: 'kind', head: 'What', cell: (x) => x.kind },
  {
    key: 'share', head: 'Share', align: 'right',
    cell: (x) => (
      <span class="share-cell">
        <Bar share={x.share} label={`${safe(x.target)} of ${x.kind}`} />
        <Num v={x.share} unit="ratio" />
      </span>
    ),
  },
  { key: 'day', head: 'Growth per day', align: 'right', cell: (x) => <Num v={x.bytes_per_day} unit="B" /> },
]

/** The columns that a phone has room for. */
const onPhone = ['kind', 'bytes', 'kept', 'flag']

/** How long a kind is kept, days. */
const days = (k: Keeping) => Math.round((k.keep_days ?? 0) * 100) / 100

/** Asks for another retention. */
function Change({ k, onClose, done }: { k: Keeping; onClose: () => void; done: () => void }) {
  const [value, setValue] = useState(String(days(k)))
  const n = Number(value)
  const good = value.trim() !== '' && n >= 0.042 && n <= 36500
  return (
    <Confirm title={`Retention of ${k.kind}`} yes="Save" danger={good && n < (k.keep_days ?? 0)}
      why={good ? '' : 'enter days from 0.042 (1 h) to 36500'} onClose={onClose} run={async () => {
        await post('retention', { name: (k.flag ?? '').replace(/^--/, ''), days: n })
        done()
      }}>
      <label class="field">
        <span class="label">Days</span>
        <input class="input" name="days" inputMode="decimal" autocomplete="off" value={value} aria-invalid={!good}
          onInput={(e) => setValue(e.currentTarget.value)} />
      </label>
      <p class="dim">
        {good && n < (k.keep_days ?? 0)
          ? `Data older than ${span(n * 86400)} is deleted in whole blocks, within a week, and cannot be restored.`
          : 'This takes effect at once and survives restarts, unless dyno serve is started with the flag:'}{' '}
        {!(good && n < (k.keep_days ?? 0)) && <code>{k.flag}</code>}
      </p>
    </Confirm>
  )
}

const MiB = 1 << 20

/** Asks for another maximum size. */
function Limit({ k, onClose, done }: { k: Keeping; onClose: () => void; done: () => void }) {
  const least = k.limit_name === 'max-series' ? 100 : 1
  const [value, setValue] = useState(String(Math.round((k.limit_bytes ?? 0) / MiB)))
  const n = Number(value)
  const good = value.trim() !== '' && n >= least && n <= 2 ** 30
  return (
    <Confirm title={`Maximum size of ${k.kind}`} yes="Save" danger={good && n * MiB < k.bytes}
      why={good ? '' : `enter MiB from ${least}`} onClose={onClose} run={async () => {
        await post('retention', { name: k.limit_name ?? '', bytes: n * MiB })
        done()
      }}>
      <label class="field">
        <span class="label">MiB</span>
        <input class="input" name="mib" inputMode="decimal" autocomplete="off" value={value} aria-invalid={!good}
          onInput={(e) => setValue(e.currentTarget.value)} />
      </label>
      <p class="dim">
        {good && n * MiB < k.bytes
          ? 'What is over it is deleted within minutes, the oldest first, and cannot be restored.'
          : 'This takes effect at once and survives restarts.'}
      </p>
    </Confirm>
  )
}

export function Retention({ s, reload }: { s: Settings; reload: () => void }) {
  const [changing, setChanging] = useState<Keeping>()
  const [limiting, setLimiting] = useState<Keeping>()
  const now = sum(s.keeping.map((k) => k.bytes))
  const day = sum(s.keeping.map((k) => k.growth_bytes_per_day))
  const timed = s.keeping.filter((k) => k.keep_days !== undefined)
  const will = sum(timed.map((k) => k.will_take_bytes))
  const whole = timed.length > 0 && timed.every((k) => k.will_take_bytes !== undefined || k.bytes < 1 << 20)
  const free = s.disk.free_bytes
  const more = stillToCome(s.keeping)
  const shared = s.keeping.filter((k) => (k.targets?.length ?? 0) > 0)
  return (
    <div class="stack loose">
      <div class="figures">
        <Figure label="Size" value={now} unit="B" />
        <Figure label="Growth per day" value={day} unit="B"
          note={day === undefined ? 'available after 1 h' : 'as measured'} />
        <Figure label="Projected size" value={will} unit="B" note={will === undefined ? 'available after 1 h'
          : whole ? 'once all retention times are reached' : 'from what is measured so far'} />
        <Figure label="Free on the disk" value={free} unit="B" note={`of ${text(s.disk.total_bytes, 'B')}`} />
      </div>
      {more !== undefined && free !== undefined && more > free && (
        <Notice tone="bad">
          Retention needs {text(more, 'B')} more, but only {text(free, 'B')} is free, part of it <code>--reserve</code>
            . Start Dyno with a shorter <code>--keep</code> or <code>--max-size</code>.
        </Notice>
      )}
      <Table columns={columns(setChanging, setLimiting).filter((c) => !narrow.value || onPhone.includes(c.key))} rows={s.keeping}
        rowKey={(k) => k.kind} label="Retention" sortParam="by" empty={<Empty title="No stored data yet" />} />
      {shared.length > 0 && (
        <section class="stack">
          <h2>By target</h2>
          <p class="dim">
            Estimated, not measured: series by their number, states by the size of the newest, query classes by their
            number in the last hour.</p>
          <Table columns={shareColumns} rows={sharesOf(shared)} rowKey={(x) => x.target + '\n' + x.kind}
            label="Size by target" sortParam="share" />
        </section>
      )}
      <p class="faint">
        Limits of all kinds: <code>dyno store limit states 500M
        </code> <Copy text="dyno store limit states 500M" bare label="Copy the command" />. A flag
        of <code>dyno serve</code> overrides what is set here. The oldest data is deleted first.
      </p>
      {limiting && (
        <Limit k={limiting} onClose={() => setLimiting(undefined)} done={() => {
            reload()
            toast('The maximum size was changed', 'good')
          }} />
      )}
      {changing && (
        <Change k={changing} onClose={() => setChanging(undefined)} done={() => {
            reload()
            toast('Retention was changed', 'good')
          }} />
      )}
    </div>
  )
}

import { href, inventory, isPostgres, newest, second, span, useVitals } from '../../core'
import { Figure, safe } from '../../kit'

/** The newest second of a server, in figures; of long ago none. */
export function Strip({ target }: { target: string }) {
  const t = inventory.value.list?.find((x) => x.name === target)
  const at = second.value
  const n = newest(t, useVitals([target]).value.get(target), at)
  const x = n.v
  const cores = x['host_cpus']
  const up = x['uptime_seconds']
  const pg = isPostgres(n.server)
  return (
    <section class="sv-strip" aria-label="This second">
      <Figure label="Statements" value={x['qps']} unit="/s" href={href('queries')} />
      <Figure label="Transactions" value={x['tps']} unit="/s" />
      <Figure label="Running" href={href('activity')} value={x['threads_running']} unit=""
        note={x['threads_connected'] === undefined ? undefined : `of ${x['threads_connected']} connected`} />
      <Figure label="Server CPU" value={x['server_cpu_cores']} unit="cores"
        note={cores === undefined ? undefined : `of ${cores}`} />
      <Figure label="Host CPU" value={x['host_cpu_busy_ratio']} unit="ratio" />
      <Figure label="Disk busy" value={x['disk_busy_ratio']} unit="ratio" />
      <Figure label={pg ? 'Buffer misses' : 'Pool misses'} value={x['pool_misses_per_second']} unit="/s" />
      <Figure label="Lock waiters" href={href('activity', { tab: 'locks' })} value={x['row_lock_waiting']} unit="" />
      {!pg && <Figure label="History list" value={x['history_length']} unit="" />}
      {x['replica_lag_seconds'] !== undefined && <Figure label="Lag" value={x['replica_lag_seconds']} unit="s" />}
      <div class="sv-strip-who">
        <div>{safe(n.server) || '\u00a0'}</div>
        <div class="dim">{n.silent && n.at !== undefined
          ? <span class="tone-warn">last reading {span(at - n.at)} ago</span>
          : up === undefined ? '' : `up ${span(up)}`}</div>
      </div>
    </section>
  )
}

// What is known of a target now, of what the inventory and the stream say.
import { oldAfter } from './session'
import { barredOf, type Barred, type Vitals } from './stream'
import type { TargetRow as Target } from './openapi.gen'

export interface Newest {
  up: boolean | undefined
  barred: Barred | undefined // what keeps Dyno out, see reason
  reason: string // why it is down
  fix: string
  server: string
  at: number | undefined // of the newest reading, unix seconds
  silent: boolean // it is said to be up and no reading came for a while
  v: Record<string, number> // figures, by name: none of a server that is down, and none of long ago
}

/** Puts together what is known at a moment: the newer of the two counts. */
export function newest(t: Target | undefined, v: Vitals | undefined, now: number): Newest {
  const told = t?.at === undefined ? undefined : Date.parse(t.at) / 1000
  const at = v && !(told !== undefined && told > v.at) ? v.at : told
  const newer = v !== undefined && at === v.at
  const barred = newer ? v.barred : barredOf(t?.not_configured, t?.login_refused).barred
  const up = barred ? undefined : newer ? v.up : t?.up
  const old = oldAfter()
  return {
    up, barred, at, silent: up === true && at !== undefined && now - at > old,
    reason: up === false || barred ? ((newer ? v.reason : '') || t?.reason || 'it does not answer') : '',
    fix: up === false || barred ? (t?.fix ?? '') : '', server: (newer ? v.server : '') || t?.server || '',
    v: up !== false && v?.up === true && now - v.at <= old ? v.v : {},
  }
}

import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { get } from '../core/api'
import { useData } from '../core/data'
import { fitRange } from '../core/time'
import { inventory, useTarget } from '../core/targets'
import { now, second } from '../core/clock'
import { newest } from '../core/newest'
import { useVitals } from '../core/stream'
import { go, href, route, withParams } from '../core/url'
import { Bar as TopBar } from './bar'
import { Denied } from './denied'
import { Health } from './health'
import { Empty, Loading, Notice, Problem } from './state'
import { RangePicker, TargetPicker, UpIcon } from './pickers'
import { safe } from './sqltext'
import './page.css'

/**
 * A page: its heading, the pickers it asks for, its content. With target the content is only drawn when the URL names a
 * target of the inventory; else it is chosen when there is one, or offered. A target that is down is said to be so
 * above the content.
 */
export function Page(
  p: { title: string; target?: boolean; range?: boolean
  | string; actions?: ComponentChildren; children?: ComponentChildren; wide?: boolean }) {
  const [target] = useTarget()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = [p.title, p.target ? safe(target) : '', 'Dyno'].filter(Boolean).join(' · ')
  }, [p.title, p.target, target])
  return (
    <>
      <TopBar title={<h1 ref={heading} class="page-title" tabIndex={-1}>{p.title}</h1>} pickers={
          <>
            {p.target && <TargetPicker />}
            {p.range && <RangePicker {...(typeof p.range === 'string' ? { none: p.range } : {})} />}
          </>
        }
        actions={p.actions} />
      <main id="main" class={`page${p.wide ? ' wide' : ''}`} tabIndex={-1}>
        <Health />
        {p.target ? <OfTarget name={target} range={p.range !== undefined && p.range !== false}>{p.children}</OfTarget>
          : p.children}
      </main>
    </>
  )
}

function OfTarget({ name, range, children }: { name: string; range: boolean; children: ComponentChildren }) {
  const { list, error } = inventory.value
  const [first, hour] = useMemo(() => [now() - 3600, now()], [name])
  const kept = useData<{ times: string[] }>(range && list?.some((x) => x.name === name) ? `kept\n${name}\n${hour}`
    : null, (signal) => get('states', { target: name, from: first, to: hour, limit: 1 }, signal))
  useEffect(() => {
    const oldest = kept.value?.times[0]
    if (oldest !== undefined) fitRange(name, Date.parse(oldest) / 1000)
  }, [name, kept.value])
  const only = list?.length === 1 ? list[0]?.name : undefined
  useEffect(() => {
    if (name === '' && only !== undefined) go(withParams({ target: only }), { replace: true })
  }, [name, only])
  if (list === undefined) return error ? <Problem error={error} what="Inventory" /> : <Loading lines={5} />
  if (list.length === 0)
    return <Empty icon="server" title="No server is watched yet"
      hint={<>Dyno needs an address and a user with read access. It finds local servers automatically.</>}
      action={<a class="button main" href={href('welcome')}>Add server</a>} />
  const t = list.find((x) => x.name === name)
  if (!t)
    return (
      <Empty icon="server" title={name === '' ? 'Which server?' : `The inventory has no target "${name}"`}
        hint={name === '' ? undefined : 'It may have been removed, or the link comes from another Dyno.'} action={
          <div class="choices">
            {list.slice(0, 60).map((x) => (
              <a key={x.name} class="button" href={withParams({ target: x.name })}>
                <UpIcon up={x.up} />
                {safe(x.name)}
              </a>
            ))}
            {list.length > 60 && <a href={href('fleet')}>all {list.length}</a>}
          </div>
        } />
    )
  return <><Down name={name} /><Denied name={name} />{children}</>
}

/** Says that a target is down or refuses Dyno's login, as soon as it does. */
function Down({ name }: { name: string }) {
  const t = inventory.value.list?.find((x) => x.name === name)
  const n = newest(t, useVitals([name]).value.get(name), second.value)
  if (n.up !== false && n.barred !== 'login refused') return null
  return (
    <Notice tone={n.barred ? 'warn' : 'bad'} action={route.value.page !== 'settings' &&
      <a class="button small" href={href('settings', { target: name })}>Settings</a>}>
      <b>{n.barred ? `${safe(name)} refuses Dyno’s login.` : `${safe(name)} is down.`}
      </b> {safe(n.reason)} {n.fix && <span class="dim">{safe(n.fix)}</span>}
    </Notice>
  )
}

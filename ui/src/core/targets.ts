// The inventory, for all pages.
import { signal, type ReadonlySignal } from './signal'
import { onStream } from './stream'
import { asError, get, type ApiError } from './api'
import type { TargetRow as Target } from './openapi.gen'
import { route, setParams } from './url'

/** The kinds of events that are incidents: each begin and end of one changes its target. */
const incidents = ['down', 'locks', 'saturation', 'refused', 'login', 'replication']

interface Inventory { list?: Target[] | undefined; error?: ApiError | undefined }

const known = signal<Inventory>({})
let again: () => void = () => {}

/** Every target, undefined until they came once; with the error of the newest try. */
export const inventory: ReadonlySignal<Inventory> = known

/** Reads it again now, after something changed. */
export function reloadTargets(): void {
  again()
}

/** Begins to follow the inventory; called once. */
export function followTargets(): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let running = false
  let missed = false // another request came meanwhile
  const run = async (): Promise<void> => {
    if (running) {
      missed = true
      return
    }
    running = true
    clearTimeout(timer)
    try {
      const { targets } = await get('targets')
      if (JSON.stringify(targets) !== JSON.stringify(known.value.list) || known.value.error)
        known.value = { list: targets }
    } catch (e) {
      known.value = { ...known.value, error: asError(e) }
    }
    running = false
    if (missed) {
      missed = false
      return run()
    }
    timer = setTimeout(() => {
      if (!document.hidden) void run()
    }, 5000)
  }
  again = () => void run()
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void run()
  })
  onStream('event', (e) => {
    if (incidents.includes((e as { kind?: string }).kind ?? '')) void run()
  })
  void run()
}

/** The target of the URL, '' for none; and how to choose another one. */
export function useTarget(): [string, (name: string) => void] {
  return [route.value.params.get('target') ?? '', (name) => setParams({ target: name })]
}

/** Whether a server, as "postgres 17.10", is a PostgreSQL: some words and figures are not for it. */
export function isPostgres(server: string | undefined): boolean {
  return server?.split(' ')[0] === 'postgres'
}

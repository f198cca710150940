// What is wrong with Dyno itself, for every page.
import { signal, type ReadonlySignal } from './signal'
import { get } from './api'
import type { Trouble } from './openapi.gen'

const known = signal<Trouble[]>([])

/** What is wrong now, the worst first, as of the newest answer. */
export const health: ReadonlySignal<Trouble[]> = known

/** Begins to ask, every ten seconds while the tab is seen; called once. */
export function followHealth(): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const run = async (): Promise<void> => {
    clearTimeout(timer)
    try {
      const { troubles } = await get('health')
      if (JSON.stringify(troubles) !== JSON.stringify(known.value)) known.value = troubles
    } catch {
      // that Dyno does not answer is shown where something of it is missing
    }
    clearTimeout(timer)
    timer = setTimeout(() => {
      if (!document.hidden) void run()
    }, 10_000)
  }
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void run()
  })
  void run()
}

import { signal, type ReadonlySignal } from '../core/signal'

const query = typeof matchMedia === 'undefined' ? undefined : matchMedia('(max-width: 600px)')
const on = signal(query?.matches ?? false)
query?.addEventListener('change', () => (on.value = query.matches))

/** Whether the window is as narrow as a phone. */
export const narrow: ReadonlySignal<boolean> = on

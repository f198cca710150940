// The theme: the system's until one is chosen. src/theme.js, which runs before everything else, writes it to
// data-theme; this is its other end.
import { signal, type ReadonlySignal } from './signal'

export type Theme = 'light' | 'dark'
export type Choice = Theme | 'system'

const shown = signal<Theme>('light')
const choice = signal<Choice>('system')

/** The theme in effect. What is drawn on a canvas is drawn again when it changes. */
export const theme: ReadonlySignal<Theme> = shown
/** What the user chose. */
export const chosenTheme: ReadonlySignal<Choice> = choice

function read(): void {
  shown.value = document.documentElement.dataset['theme'] === 'dark' ? 'dark' : 'light'
  let c: string | null = null
  try {
    c = localStorage.getItem('dyno-theme')
  } catch {
    // no storage: the system's theme
  }
  choice.value = c === 'light' || c === 'dark' ? c : 'system'
}

/** Chooses a theme, kept in this browser. */
export function chooseTheme(c: Choice): void {
  try {
    if (c === 'system') localStorage.removeItem('dyno-theme')
    else localStorage.setItem('dyno-theme', c)
  } catch {
    // without storage it lasts until the next load
  }
  dispatchEvent(new Event('dyno-theme'))
  read()
}

/** Begins to follow the theme; called once. */
export function followTheme(): void {
  read()
  new MutationObserver(read).observe(document.documentElement, { attributeFilter: ['data-theme'] })
}

/** The value of a colour token now: token('--c1'). */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}

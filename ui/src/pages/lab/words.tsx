// Signs and words of verdicts and states, always together.
import { Badge, Icon, type IconName, type Tone } from '../../ui'
import type { LabState, Tally } from './types'

/** What a verdict means, in a sentence. */
export const meanings: Record<string, string> = {
  better: 'The whole interval lies above ×1, and its centre beyond the margin.',
  worse: 'The whole interval lies below ×1, and its centre beyond the margin.',
  same: 'The whole interval lies within the margin: a claim that they are alike, not the lack of one.',
  unstable: 'Not decided: the interval allows more than one answer. The noise is too large for the rounds that were run. More rounds, longer trials or a quieter machine would decide it.',
  invalid: 'The measurement broke its own conditions: too few trials count, or a server differed from itself. No figure can be trusted.',
  failed: 'No trial of it came to an end. The reason stands beside it.',
}

export function toneOf(word: string | undefined): string {
  switch (word) {
    case 'better':
      return 'v-better'
    case 'worse':
    case 'failed':
      return 'v-worse'
    case 'same':
      return 'v-same'
    case 'unstable':
    case 'invalid':
      return 'v-open'
    default:
      return 'v-none'
  }
}

/** A verdict: its sign, its word. */
export function Verdict({ sign, word, n }: { sign?: string | undefined; word?: string | undefined; n?: number }) {
  if (!word) return null
  return (
    <span class={`lab-verdict ${toneOf(word)}`} title={meanings[word]}>
      <span class="lab-verdict-sign" aria-hidden="true">
        {sign}
      </span>
      {n !== undefined && <b>{n}</b>} {word}
    </span>
  )
}

export function Tallies({ tally }: { tally: Tally[] | null }) {
  const all = (tally ?? []).filter((t) => t.word !== '')
  if (all.length === 0) return <span class="faint">nothing compared</span>
  return (
    <span class="lab-tallies">
      {all.map((t) => (
        <Verdict key={t.word} sign={t.sign} word={t.word} n={t.n} />
      ))}
    </span>
  )
}

const states: Record<LabState, [Tone, IconName, string]> = {
  running: ['info', 'play', 'running'],
  finished: ['good', 'check', 'finished'],
  interrupted: ['warn', 'pause', 'stopped early'],
  damaged: ['bad', 'bad', 'damaged'],
}

export function State({ state, title }: { state: LabState; title?: string | undefined }) {
  const [tone, icon, word] = states[state]
  return (
    <Badge tone={tone} icon={icon} title={title}>
      {word}
    </Badge>
  )
}

/** A remark with its sign. */
export function Said({ sign, word, label, children }: { sign?: string | undefined; word?: string | undefined; label?: string | undefined; children?: string | undefined }) {
  return (
    <li class="lab-remark">
      <span class={`lab-verdict-sign ${toneOf(word)}`} aria-label={word}>
        {sign || <Icon name="info" size={13} />}
      </span>
      <span>
        {label && <b>{label}: </b>}
        {children}
      </span>
    </li>
  )
}

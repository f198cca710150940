// Signs and words of verdicts and states, always together.
import { Badge, Icon, type IconName, type Tone } from '../../kit'
import type { LabLine, LaidTally as Tally } from '../../core/openapi.gen'

/** What a verdict means, in a sentence. */
export const meanings: Record<string, string> = {
  better: 'The whole interval lies above ×1, and its centre beyond the margin.',
  worse: 'The whole interval lies below ×1, and its centre beyond the margin.',
  same: 'The whole interval lies within the margin: the variants are equivalent, not merely undecided.',
  unstable: 'Undecided: the interval allows more than one answer, because noise is too high for the rounds that ' +
    'were run. Use more rounds, longer trials or a quieter machine.',
  invalid: 'The measurement violated its own conditions: too few valid trials, or a server differed from itself. ' +
    'Do not trust its figures.',
  failed: 'No trial completed; the reason is shown next to it.',
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
      <span class="lab-verdict-sign" aria-hidden="true">{sign}</span>
      {n !== undefined && <b>{n}</b>} {word}
    </span>
  )
}

export function Tallies({ tally }: { tally: Tally[] | null }) {
  const all = (tally ?? []).filter((t) => t.word !== '')
  if (all.length === 0) return <span class="faint">nothing compared</span>
  return (
    <span class="lab-tallies">{all.map((t) => <Verdict key={t.word} sign={t.sign} word={t.word} n={t.n} />)}</span>
  )
}

const states: Record<LabLine['state'], [Tone, IconName, string]> = {
  running: ['info', 'play', 'running'],
  finished: ['good', 'check', 'finished'],
  interrupted: ['warn', 'pause', 'stopped early'],
  damaged: ['bad', 'bad', 'damaged'],
}

export function State({ state, title }: { state: LabLine['state']; title?: string | undefined }) {
  const [tone, icon, word] = states[state]
  return <Badge tone={tone} icon={icon} title={title}>{word}</Badge>
}

/** A remark with its sign. */
export function Said(
  { sign, word, label, children }: { sign?: string | undefined; word?: string | undefined; label?: string
  | undefined; children?: string | undefined }) {
  return (
    <li class="lab-remark">
      <span class={`lab-verdict-sign ${toneOf(word)}`} aria-label={word}>{sign || <Icon name="info" size={13} />}</span>
      <span>{label && <b>{label}: </b>}{children}</span>
    </li>
  )
}

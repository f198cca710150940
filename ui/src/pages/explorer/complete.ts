// Completion of PromQL: what stands at the cursor, and what fits there.

/** What is being written at the cursor: text[from, to) is replaced by what is chosen. */
export interface Place {
  kind: 'name' | 'label' | 'value'
  from: number
  to: number
  word: string // what is there up to the cursor
  metric: string // whose label it is; '' where that is open
  label: string // whose value it is
}

export interface Suggestion { text: string; sort: 'metric' | 'function' | 'label' | 'value'; about: string }

const token =
  /"(?:[^"\\]|\\.)*(?:"|$)|'(?:[^'\\]|\\.)*(?:'|$)|`[^`]*(?:`|$)|#.*|[a-zA-Z_:][\w:]*|\d[\w.]*|[=!][=~]|\s+|[^]/g
const grouping = /^(by|without|on|ignoring|group_left|group_right)$/i

/** What stands at the cursor; undefined where nothing can be completed: in a number, a duration or a comment. */
export function placeAt(text: string, at: number): Place | undefined {
  let metric = '' // the name before the braces
  let label = '' // the newest name in braces
  let braces = false
  let group = false // in the list of labels of "by (…)"
  let before = ''
  let brackets = false
  const here = (kind: Place['kind'], from: number): Place => {
    const end = /^[\w:]*/.exec(text.slice(at))?.[0].length ?? 0
    return { kind, from, to: at + (kind === 'value' ? 0 : end), word: text.slice(from, at),
      metric: kind === 'name' ? '' : metric, label: kind === 'value' ? label : '' }
  }
  for (const m of text.slice(0, at).matchAll(token)) {
    const t = m[0]
    const end = m.index + t.length
    const first = t[0] ?? ''
    if (/\s/.test(first)) continue
    if (first === '#') {
      if (end === at) return undefined
      continue
    }
    if ('"\'`'.includes(first)) {
      const closed = t.length > 1 && t.endsWith(first)
      if (end === at && !closed) {
        if (!braces || label === '') return undefined
        const p = here('value', m.index + 1)
        const rest = text.slice(at)
        const stop = rest.search(/["'`,}]/)
        return { ...p, to: at + (stop < 0 ? 0 : stop) }
      }
    } else if (/[a-zA-Z_:]/.test(first)) {
      if (end === at) return brackets ? undefined : here(braces || group ? 'label' : 'name', m.index)
      if (braces) label = t
      else if (!group && !grouping.test(t)) metric = t
    } else if (/\d/.test(first)) {
      if (end === at) return undefined
    } else if (t === '{') {
      if (!/^[\w:]+$/.test(before)) metric = ''
      braces = true
      label = ''
    } else if (t === '}') braces = false
    else if (t === '[') brackets = true
    else if (t === ']') brackets = false
    else if (t === '(') {
      group = grouping.test(before)
      if (group) metric = ''
    } else if (t === ')') group = false
    before = t
  }
  if (brackets || before === '}' || before === ']' || (before === ')' && /\S$/.test(text.slice(0, at))))
    return undefined
  if (braces) return before === '{' || before === ',' ? here('label', at) : undefined
  return here(group ? 'label' : 'name', at)
}

/** Those that fit a word: what begins with it first, then what has all its parts; at most n. */
export function fitting(all: Suggestion[], word: string, n = 60): Suggestion[] {
  const w = word.toLowerCase()
  const parts = w.split(/[_\s]+/).filter((x) => x !== '')
  const begins: Suggestion[] = []
  const has: Suggestion[] = []
  for (const s of all) {
    const t = s.text.toLowerCase()
    if (t.startsWith(w)) begins.push(s)
    else if (parts.every((x) => t.includes(x))) has.push(s)
  }
  return [...begins, ...has].slice(0, n)
}

/** A string of PromQL. */
export function quote(s: string): string {
  return JSON.stringify(s)
}

/** What is asked of a metric that was chosen: the rate of a counter, summed up, and a gauge as it is. */
export function expressionOf(name: string, counter: boolean, target: string, window: string): string {
  const series = `${name}{target=${quote(target)}}`
  return counter ? `sum(rate(${series}[${window}]))` : series
}

/** An expression with what was chosen at a place, and where the cursor is then. */
export function chosen(text: string, p: Place, s: Suggestion, target: string, window: string,
  counter: boolean): { text: string; at: number } {
  const rest = text.slice(p.to)
  const alone = (text.slice(0, p.from) + rest).trim() === ''
  let put = s.text
  let back = 0
  if (s.sort === 'metric' && alone) put = expressionOf(s.text, counter, target, window)
  else if (s.sort === 'metric' && !/^\s*\{/.test(rest)) put += `{target=${quote(target)}}`
  else if (s.sort === 'function' && !/^\s*\(/.test(rest)) {
    put += '()'
    back = 1
  } else if (s.sort === 'label' && !/^\s*[=!,)]/.test(rest) && p.metric + text.slice(0, p.from).replace(/[^{(]/g, '') !==
    '' && inBraces(text, p.from)) {
    put += '=""'
    back = 1
  } else if (s.sort === 'value') {
    put = quote(s.text).slice(1, -1)
    const open = text[p.from - 1] ?? '"'
    if (rest[0] !== open) put += open
  }
  const out = text.slice(0, p.from) + put + rest
  return { text: out, at: p.from + put.length - back }
}

function inBraces(text: string, at: number): boolean {
  return text.lastIndexOf('{', at - 1) > text.lastIndexOf('}', at - 1)
}

/** Where an error of the parser is, as it says itself ("1:5: parse error"), counted from 0; undefined for others. */
export function errorAt(message: string): number | undefined {
  const m = /(?:^|[^\d])1:(\d+): /.exec(message)
  return m ? Number(m[1]) - 1 : undefined
}

const words: [string, string][] = [
  ['sum', 'sum over series'], ['avg', 'average over series'], ['min', 'minimum over series'],
  ['max', 'maximum over series'], ['count', 'number of series'], ['topk', 'the k largest series: topk(5, …)'],
  ['bottomk', 'the k smallest series'], ['quantile', 'quantile over series: quantile(0.95, …)'],
  ['stddev', 'standard deviation over series'], ['stdvar', 'variance over series'],
  ['count_values', 'number of series for each value'], ['group', '1 for each group'],
  ['rate', 'per-second rate of a counter: rate(x[1m])'], ['irate', 'rate between the last two samples'],
  ['increase', 'increase of a counter over the range: increase(x[5m])'],
  ['delta', 'difference of a gauge over the range'], ['idelta', 'difference of the last two samples'],
  ['deriv', 'slope of a gauge per second'], ['predict_linear', 'predicted value of a gauge in N seconds'],
  ['resets', 'how often a counter was reset'], ['changes', 'how often a value changed'],
  ['avg_over_time', 'average over the range'], ['min_over_time', 'minimum over the range'],
  ['max_over_time', 'maximum over the range'], ['sum_over_time', 'sum of samples in the range'],
  ['count_over_time', 'number of samples'], ['quantile_over_time', 'quantile of samples in the range'],
  ['stddev_over_time', 'standard deviation over the range'], ['last_over_time', 'last sample in the range'],
  ['present_over_time', '1 where there is a sample'], ['absent_over_time', '1 where there is no sample'],
  ['absent', '1 where there is no series'], ['abs', 'absolute value'], ['ceil', 'rounds up'],
  ['floor', 'rounds down'], ['round', 'rounds: round(x, 0.1)'], ['clamp', 'within limits: clamp(x, 0, 1)'],
  ['clamp_min', 'not below'], ['clamp_max', 'not above'], ['exp', 'e to the power of'], ['ln', 'natural logarithm'],
  ['log2', 'binary logarithm'], ['log10', 'decimal logarithm'], ['sqrt', 'square root'], ['sgn', 'sign'],
  ['sort', 'sorts series, ascending'], ['sort_desc', 'sorts series, descending'],
  ['histogram_quantile', 'quantile of buckets by the label le'],
  ['label_replace', 'label_replace(x, "new", "$1", "old", "(.*)")'], ['label_join', 'joins labels'],
  ['scalar', 'a number of a single series'], ['vector', 'a series of a number'], ['time', 'Unix time'],
  ['timestamp', 'time of each sample'], ['day_of_week', '0 is Sunday'], ['hour', 'hour of day, UTC'],
  ['minute', 'minute of the hour'], ['double_exponential_smoothing', 'smooths a gauge'],
]

/** The functions and aggregations of PromQL. */
export const functions: Suggestion[] = words.map(([text, about]) => ({ text, sort: 'function', about }))

/** The unit of an expression, as far as its names tell. */
export function unitOf(expr: string): string {
  const rate = /\b(i?rate|deriv)\s*\(/.test(expr)
  if (/\/(?!\/)/.test(expr.replace(/"[^"]*"/g, ''))) return ''
  if (/_bytes/.test(expr)) return rate ? 'B/s' : 'B'
  if (/_seconds/.test(expr)) return rate ? 's/s' : 's'
  return rate ? '/s' : ''
}

/** Lengths of a step that are offered, in seconds. */
export const steps = [1, 2, 5, 10, 15, 30, 60, 300, 900, 3600, 21600, 86400]

/** The step of a window without one of its own: at most 600 points. */
export function stepFor(seconds: number): number {
  return steps.find((s) => seconds / s <= 600) ?? Math.ceil(seconds / 600 / 86400) * 86400
}

/** A duration as PromQL writes it. */
export function duration(seconds: number): string {
  for (const [n, u] of [[86400, 'd'], [3600, 'h'], [60, 'm']] as const)
    if (seconds >= n && seconds % n === 0) return `${seconds / n}${u}`
  return `${seconds}s`
}

/** What to call each of several series: the labels in which they differ, or the whole where they do not. */
export function namesOf(all: Record<string, string>[]): string[] {
  const keys = [...new Set(all.flatMap((x) => Object.keys(x)))].sort()
  const differ = keys.filter((k) => all.some((x) => x[k] !== all[0]?.[k]))
  return all.map((x) => {
    const name = differ.includes('__name__') ? (x['__name__'] ?? '') : ''
    const rest = differ.filter((k) => k !== '__name__' && k !== 'instance' && x[k] !== undefined)
    const only = rest.length === 1 && name === '' ? (x[rest[0] ?? ''] ?? '') : ''
    if (only !== '') return only
    return name + (rest.length > 0 ? `{${rest.map((k) => `${k}=${quote(x[k] ?? '')}`).join(', ')}}` : '')
  })
}

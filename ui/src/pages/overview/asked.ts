// What the graphs of a server are asked for.
import { now, opening, parseSpan, readRange, type Params } from '../../core'

export interface Asked {
  target: string
  from: string // as the URL has them
  to: string
  points: number
  compare: number // seconds before; 0: none
  panels: string[] // none: all
}

/** What the URL of a server's page wants to see. */
export function wanted(url: URLSearchParams): Asked {
  const large = url.get('panel')
  return {
    target: url.get('target') ?? '', from: url.get('from') || opening(url.get('target') ?? ''),
    to: url.get('to') || 'now', points: large ? 1200 : 360,
    compare: Math.round(Math.abs(parseSpan(url.get('compare') ?? '')) || 0), panels: large ? [large] : [],
  }
}

/** Spans as the API takes them, from weeks to seconds. */
const span = /^-(?=\d)(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?$/

/**
 * The question to the API. What is relative to now stays so, by the server's clock; other moments are worked out here,
 * forgiving what is wrong.
 */
export function asks(a: Asked): Params {
  const r = readRange(a.from, a.to, now())
  const live = r.live && span.test(a.from) && r.to - r.from > 1
  return { target: a.target, from: live ? a.from : r.from, to: live ? a.to : r.to,
    compare: a.compare > 0 ? a.compare : null, panel: a.panels, points: a.points }
}

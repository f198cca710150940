// Events as marks on a timeline.
import type uPlot from 'uplot'
import { alpha, type Colours } from './build'
import type { Mark } from './types'

/** What kinds of events are called, and the letter or sign of their mark. */
const kinds: Record<string, { name: string; sign: string }> = {
  annotation: { name: 'note', sign: '✎' },
  ddl: { name: 'schema change', sign: 'D' },
  config: { name: 'setting changed', sign: 'S' },
  run: { name: 'load', sign: 'L' },
  action: { name: 'Dyno action', sign: 'A' },
  variant: { name: 'variant', sign: 'V' },
  restart: { name: 'restart', sign: 'R' },
  gap: { name: 'not observed', sign: '?' },
  down: { name: 'server down', sign: '!' },
  locks: { name: 'lock pile-up', sign: '!' },
  deadlock: { name: 'deadlock', sign: 'X' },
  saturation: { name: 'saturated', sign: '!' },
  refused: { name: 'connections refused', sign: '!' },
  login: { name: 'login refused', sign: '!' },
  replication: { name: 'replication stopped', sign: '!' },
  incident: { name: 'incident', sign: '!' },
}

/** How an event of a kind is called. */
export function kindName(kind: string): string {
  return kinds[kind]?.name ?? kind
}

/**
 * Draws marks: spans as a shade, moments as a line with a sign at its top. Signs that would lie on one another are left
 * out.
 */
export function drawMarks(u: uPlot, marks: Mark[], c: Colours): void {
  const { left, top, width, height } = u.bbox
  const px = devicePixelRatio
  const g = u.ctx
  g.save()
  g.beginPath()
  g.rect(left, top, width, height)
  g.clip()
  let free = -Infinity
  for (const m of marks) {
    const x = Math.round(u.valToPos(m.at, 'x', true))
    if (m.until !== undefined && m.until > m.at) {
      const end = Math.max(x + px, u.valToPos(m.until, 'x', true))
      g.fillStyle = alpha(c.warn, m.kind === 'gap' ? 0.14 : 0.07)
      g.fillRect(x, top, end - x, height)
    }
    if (m.kind === 'gap') continue
    g.strokeStyle = alpha(c.warn, 0.75)
    g.lineWidth = px
    g.setLineDash([2 * px, 3 * px])
    g.beginPath()
    g.moveTo(x + 0.5, top)
    g.lineTo(x + 0.5, top + height)
    g.stroke()
    if (x - free < 12 * px) continue
    free = x
    g.setLineDash([])
    g.fillStyle = c.warn
    g.fillRect(x - 6 * px, top, 12 * px, 12 * px)
    g.fillStyle = c.surface
    g.font = `${10 * px}px sans-serif`
    g.textAlign = 'center'
    g.textBaseline = 'middle'
    g.fillText(kinds[m.kind]?.sign ?? '•', x, top + 6.5 * px)
  }
  g.restore()
}

/** The marks at a moment, within reach of it. */
export function marksAt(marks: Mark[], t: number, reach: number): Mark[] {
  return marks.filter((m) => (m.until !== undefined && m.until > m.at && m.at <= t && t <= m.until) ||
    Math.abs(m.at - t) <= reach)
}

// What a diagnosis could not observe, and what is lost with it.
import type { DiagnosisDetail } from '../../core/openapi.gen'

interface Unseen { what: string; why: string[]; fix?: string | undefined }

const lead = 'data unavailable: '

/** The sources that gave nothing, each with what judgement lost with it; then what was lost without such a source. */
export function unseen(d: Pick<DiagnosisDetail, 'symptoms' | 'sources'>): Unseen[] {
  const blind = d.symptoms.filter((s) => s.kind === 'not-observable')
  const lost = (title: string) => (title.startsWith(lead) ? title.slice(lead.length) : title)
  const of = new Set(d.sources.map((s) => s.name))
  return [
    ...d.sources.map((s) => ({
      what: s.name,
      why: [...blind.filter((b) => b.subject === s.name).map((b) => `Unknown without it: ${lost(b.title)}.`),
        ...(s.reason ? [s.reason] : [])],
      fix: s.fix,
    })),
    ...blind.filter((b) => !of.has(b.subject)).map(
      (b) => ({ what: lost(b.title), why: (b.evidence ?? []).map((e) => e.text) })),
  ]
}

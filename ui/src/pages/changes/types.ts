// What the API gives of changes. What is not known is missing.
import type { Action } from '../findings/types'

export type EntryState = 'planned' | 'running' | 'done' | 'failed' | 'undone'

export interface Note {
  at: string
  text: string
}

export interface Change {
  id: string
  target: string
  url: string
  server: string
  by?: string // the user of the web UI who requested it
  finding?: string
  action: Action
  state: EntryState
  error?: string
  planned: string
  started?: string
  ended?: string
  undo_began?: string
  undo_by?: string // the user of the web UI who requested the last undo
  undone_at?: string
  before?: string
  notes?: Note[]
  text: string
  task?: string
  open?: string // left half-way: what that means and what to do
}

export interface Figures {
  per_sec?: number
  mean_sec?: number
  p95_sec?: number
  examined_per_call?: number
  sent_per_call?: number
  share?: number
}

export interface Proven {
  id: string
  fingerprint: string
  sampled?: boolean
  before?: Figures
  after?: Figures
  verdict?: 'faster' | 'slower' | 'unproven'
}

export interface Proof {
  id: string
  at: string
  from: string
  to: string
  sentence: string
  measures: { name: string; title: string; unit: string; before?: number; after?: number }[] | null
  classes: Proven[] | null
  warnings: string[] | null
}

export interface Detail extends Change {
  title?: string
  events: { id: string; at: string; until?: string; kind: string; text: string }[]
  proofs: Proof[]
}

export interface Preview {
  finding: string
  diagnosis: string
  execute: boolean
  text: string[]
  preview: {
    target: string
    server: string
    action: Action
    words: string
    rows?: number
    table_bytes?: number
    bytes?: number
    seconds_low?: number
    seconds_high?: number
    warnings?: string[]
    blockers?: string[]
  }
}

export interface UndoPreview {
  entry: Change
  sql: string
  notes?: string[]
  blockers?: string[]
}

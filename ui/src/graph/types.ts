// What graphs are made of, as GET graphs answers it.

/** One course. What is not known is null. */
export interface Line {
  name: string
  expr: string
  mean: (number | null)[]
  min?: (number | null)[]
  max?: (number | null)[]
  compare?: (number | null)[]
  unknown?: string // why there is nothing, and what would mend it
  limit?: boolean // what the others may reach at most
  rest?: boolean // of a stack: what is left over
}

export interface Panel {
  id: string
  group: string
  title: string
  unit: string
  about: string
  stacked: boolean
  lines: Line[]
}

/** Point i is of the time from from+i*step on. */
export interface Graphs {
  target: string
  from: number
  to: number
  step: number
  panels: Panel[]
}

/** A mark on the timeline; a moment, or the time up to until. Unix seconds. */
export interface Mark {
  id: string
  at: number
  until?: number
  kind: string
  text: string
  ref?: string
}

/** One course of a Plot. */
export interface PlotLine {
  name: string
  y: (number | null)[]
  band?: [(number | null)[], (number | null)[]] | undefined // least and greatest
  dash?: boolean | undefined
  colour?: number | undefined // 1…8 of the tokens, in place of its turn
  unit?: string | undefined // in the legend, when it is another one
  limit?: boolean | undefined
  rest?: boolean | undefined
  quiet?: boolean | undefined // not in the legend
}

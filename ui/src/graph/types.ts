// What graphs are made of, as GET graphs answers it.

/** A mark on the timeline; a moment, or the time up to until. Unix seconds. */
export interface Mark { id: string; at: number; until?: number; kind: string; text: string; ref?: string }

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

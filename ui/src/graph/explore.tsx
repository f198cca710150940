// The way from a graph to its PromQL.
import { exploreLink } from '../core/url'
import type { Graph as Panel } from '../core/openapi.gen'
import { Icon } from '../kit/icons'

/** The link from a graph to its expressions in the explorer; nothing where none has data. */
export function Explore({ panel }: { panel: Panel }) {
  const exprs = panel.lines.filter((l) => l.unknown === undefined).map((l) => l.expr)
  if (exprs.length === 0) return null
  return (
    <a class="explore" href={exploreLink(exprs)} title="Explore: change the PromQL of this graph">
      <Icon name="explorer" size={14} /><span class="hide">Explore {panel.title}</span>
    </a>
  )
}

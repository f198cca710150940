import { inventory } from '../core/targets'
import { narrow } from './narrow'
import { Copy } from './small'
import { Notice } from './state'
import { safe } from './sqltext'

/**
 * What the account of a target may not see, and the statements that change it: the first line of every page of that
 * target.
 */
export function Denied({ name }: { name: string }) {
  const d = inventory.value.list?.find((x) => x.name === name)?.denied
  if (!d) return null
  const fixes = d.fixes ?? []
  const grants = fixes.filter((f) => f.startsWith('GRANT '))
  const script = grants.map((f) => f.replace(/;?\s*$/, ';')).join('\n')
  return (
    <Notice tone="warn">
      <details class="denied" open={!narrow.value}>
        <summary>
          <b>The account of {safe(name)} may not see
            {narrow.value ? ` ${d.sources.length} of the data sources.` : `: ${safe(d.sources.join(', '))}.`}</b>
        </summary>
        {narrow.value && <p>{safe(d.sources.join(', '))}</p>}
        {d.reasons && <p class="dim">{safe(d.reasons.join('; '))}</p>}
        {fixes.filter((f) => !grants.includes(f)).map((f) => <p key={f} class="dim">Fix: {safe(f)}</p>)}
        {script !== '' && (
          <p class="denied-fix">
            <span>Fix:</span> <code>{safe(script)}
            </code> <Copy text={script} label={grants.length > 1 ? 'Copy the GRANTs' : 'Copy the GRANT'} />
          </p>
        )}
      </details>
    </Notice>
  )
}

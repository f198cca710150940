// Tables of texts, and lists of facts: of long ones the begin is drawn first.
import { safe } from '../../kit'
import { useCut } from '../../kit/fold'
import type { Fact, LaidTable as TextTable } from '../../core/openapi.gen'

/** A table of texts: the first columns from the left, figures right-aligned, tail columns from the left again. */
export function TextRows({ table, tail = 0 }: { table: TextTable; tail?: number }) {
  const figure = (i: number) => i >= table.left && i < table.head.length - tail
  const [rows, rest] = useCut(table.rows)
  return (
    <>
      <div class="lab-grid-box" role="region" aria-label={table.title} tabIndex={0}>
        <table class="lab-texts">
          <thead>
            <tr>
              {table.head.map((h, i) => (
                <th key={i} scope="col" class={figure(i) ? 'num' : ''}>{h || <span class="hide">variant</span>}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((r, i) => (
              <tr key={i}>{r.map((c, k) => <td key={k} class={figure(k) ? 'num' : ''}>{safe(c)}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      {rest}
      {table.note && <p class="faint lab-note">{table.note}</p>}
    </>
  )
}

/** Names with their values; with small, next to each other where there is room. */
export function Facts({ of, small, class: c = '' }: { of: readonly Fact[]; small?: boolean; class?: string }) {
  const [facts, rest] = useCut(of)
  return (
    <>
      <dl class={`lab-facts ${small ? 'lab-tight' : ''} ${c}`}>
        {facts.map((f, i) => (
          <div key={i}>
            <dt>{safe(f.name)}</dt>
            <dd>{f.value === '' ? <span class="faint">empty</span> : safe(f.value)}</dd>
          </div>
        ))}
      </dl>
      {rest}
    </>
  )
}

// The table of a comparison: rows × columns × ratio to the baseline, each with interval, verdict and n.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { setParams, useParam } from '../../core'
import { safe } from '../../kit'
import { figureOf, nest, reaches } from './scale'
import { Glyph } from './glyph'
import { toneOf, Verdict } from './words'
import type { LabExperiment as Experiment, Laid, LaidCell as Cell,
  LaidFigure as CellFigure } from '../../core/openapi.gen'

/** Which of the shown values the table is about; the URL says it. */
export function useValue(laid: Laid): number {
  const [name] = useParam('value')
  const i = laid.values.findIndex((v) => v.name === name)
  return i < 0 ? 0 : i
}

export function Grid({ x }: { x: Experiment }) {
  const { laid } = x
  const at = useValue(laid)
  const box = useRef<HTMLDivElement>(null)
  const [over, setOver] = useState<{ cell: Cell; left: number; top: number } | null>(null)
  const [open] = useParam('cell')
  const flat = laid.column_axes.length === 0
  const depth = Math.max(1, laid.column_axes.length)
  const cells = new Map(laid.cells.map((c) => [`${c.row}/${c.column}`, c]))
  const value = laid.values[at]
  const hover = (cell: Cell | null, el?: HTMLElement) => {
    const host = box.current
    if (!cell || !el || !host) return setOver(null)
    const a = el.getBoundingClientRect()
    const b = host.getBoundingClientRect()
    setOver({ cell, left: a.left - b.left, top: a.bottom - b.top + 4 })
  }
  const reach = at === 0 ? laid.reach : reachOf(laid, at)
  const compared = laid.cells.some((c) => c.figures[at]?.ratio || c.word)
  const touch = (c: Cell) => ({
    onMouseEnter: (e: MouseEvent) => hover(c, e.currentTarget as HTMLElement), onMouseLeave: () => hover(null),
    onFocus: (e: FocusEvent) => hover(c, e.currentTarget as HTMLElement), onBlur: () => hover(null),
    onClick: () => setParams({ cell: open === c.variant ? null : c.variant }, { replace: true }),
    'aria-pressed': open === c.variant, 'aria-label': said(c, c.figures[at], value?.title ?? ''),
  })
  if (laid.cells.length === 0) return <p class="dim">The plan has no variants.</p>
  return (
    <div class="lab-grid-host" ref={box}>
      <div class="lab-grid-box" role="region" aria-label={laid.title} tabIndex={0}>
        <table class="lab-grid">
          <caption class="hide">{value?.head ?? laid.title}</caption>
          <thead>
            {flat ? (
              <tr>
                {(laid.row_axes.length ? laid.row_axes : ['']).map((a) => (
                  <th key={a} scope="col" class="lab-label">{a || <span class="hide">variant</span>}</th>
                ))}
                <th scope="col" class="num">{value?.head}</th>
                <th scope="col" class="num">interval</th>
                <th scope="col" class="num" title="valid trials">n</th>
                {compared && (
                  <>
                    <th scope="col" class="num">ratio</th>
                    <th scope="col" class="num">interval</th>
                    <th scope="col" class="num" title={laid.samples}>n</th>
                    <th scope="col" class="lab-axis"><span>lower</span><span>×1</span><span>higher</span></th>
                  </>
                )}
              </tr>
            ) : (
              Array.from({ length: depth }, (_, level) => (
                <tr key={level}>
                  {level === 0 &&
                    (laid.row_axes.length ? laid.row_axes : ['']).map((a) => (
                      <th key={a} scope="col" rowSpan={depth} class="lab-label lab-corner">
                        {a || <span class="hide">variant</span>}
                      </th>
                    ))}
                  {nest(laid.columns, level).map((h) => (
                    <th key={h.at} scope={h.span > 1 ? 'colgroup' : 'col'} colSpan={h.span}
                      class={h.span > 1 ? 'lab-span' : 'num'}>
                      <span class="hide">{laid.column_axes[level]} </span>
                      {safe(h.text)}
                    </th>
                  ))}
                </tr>
              ))
            )}
          </thead>
          <tbody>
            {laid.rows.map((labels, i) => (
              <tr key={i} class={i > 0 && labels.length > 1 && labels[0] !== laid.rows[i - 1]?.[0] ? 'lab-group' : ''}>
                {(labels.length ? labels : ['']).map((t, k) => {
                  const n = labels.length ? reaches(laid.rows, i, k) : 1
                  return n === 0 ? null : (
                    <th key={k} scope={n > 1 ? 'rowgroup' : 'row'} rowSpan={n} class="lab-label">
                      <span>{safe(t)}</span>
                    </th>
                  )
                })}
                {laid.columns.map((_, k) => {
                  const c = cells.get(`${i}/${k}`)
                  if (!c)
                    return flat ? (
                      <td key={k} colSpan={compared ? 7 : 3} class="lab-hole" title="skipped by the plan">·</td>
                    ) : (
                      <td key={k} class="lab-hole" title="skipped by the plan">
                        ·<span class="hide">skipped by the plan</span>
                      </td>
                    )
                  const f = c.figures[at] ?? { value: '–' }
                  const main = at === 0
                  return flat ? (
                    <Spread key={k} c={c} f={f} main={main} compared={compared} reach={reach} margin={margin(laid)}
                      touch={touch(c)} open={open === c.variant} />
                  ) : (
                    <td key={k} class={`lab-cell ${main ? toneOf(c.word) : 'v-none'}${c.baseline ? ' is-base' : ''}` +
                        `${open === c.variant ? ' is-open' : ''}`} data-variant={c.variant}>
                      <button type="button" class="lab-cell-button" {...touch(c)} aria-label={undefined}>
                        <span class="hide">{`${safe(c.label)}: ${value?.title ?? ''} `}</span>
                        <Stacked c={c} f={f} main={main} reach={reach} margin={margin(laid)} />
                      </button>
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {over && <Trials x={x} cell={over.cell} at={at} left={over.left} top={over.top} />}
    </div>
  )
}

/** The margin within which ratios count as the same, as the curves have it. */
function margin(laid: Laid): number {
  return laid.sweeps.find((s) => s.margin)?.margin ?? 0
}

function said(c: Cell, f: CellFigure | undefined, what: string): string {
  if (!f) return safe(c.label)
  const parts = [`${safe(c.label)}: ${what} ${f.value}`]
  if (f.interval) parts.push(`interval ${f.interval}`)
  if (f.n) parts.push(`n=${f.n}`)
  if (f.note) parts.push(f.note)
  if (f.ratio)
    parts.push(`${c.word ?? ''} ratio ${f.ratio}${f.bounds ? `, interval ${f.bounds}` : ''}, n=${f.ratio_n ?? 0}`)
  else if (c.word && c.word !== f.note) parts.push(c.word)
  return parts.join(', ')
}

function Stacked(
  { c, f, main, reach, margin }: { c: Cell; f: CellFigure; main: boolean; reach: number; margin: number }) {
  const word = main ? c.word : undefined
  return (
    <>
      {(f.value !== '–' || !f.note) && <span class="lab-value">{f.value}</span>}
      {f.n ? <span class="lab-interval">{f.interval} <span class="lab-n">n={f.n}</span></span> : null}
      {f.ratio ? (
        <>
          <span class={`lab-ratio ${toneOf(word)}`}>
            {main && c.sign ? <span class="lab-sign">{c.sign}</span> : null}
            {f.ratio}
            {word && <span class="lab-word">{word}</span>}
          </span>
          <span class="lab-interval">{f.bounds} <span class="lab-n">n={f.ratio_n}</span></span>
          {f.of && <Glyph of={f.of} reach={reach} margin={main ? margin : 0} word={word} />}
        </>
      ) : f.note || word ? (
        <span class={`lab-note ${toneOf(word)}`}>
          {word && word !== f.note ? <Verdict sign={c.sign} word={word} />
            : word ? <Verdict sign={c.sign} word={word} /> : f.note}
        </span>
      ) : null}
    </>
  )
}

/** How far the ratios of a value go from 1, as a logarithm: all cells share one axis. */
function reachOf(laid: Laid, at: number): number {
  let most = 0.02
  for (const c of laid.cells) {
    const v = c.figures[at]?.of
    if (v && v.lo > 0 && v.hi < 1e12) most = Math.max(most, Math.abs(Math.log(v.lo)), Math.abs(Math.log(v.hi)))
  }
  return most * 1.05
}

function Spread(
  p: { c: Cell; f: CellFigure; main: boolean; compared: boolean; reach: number; margin: number; touch: ReturnType<() =>
  object>; open: boolean }) {
  const { c, f, main } = p
  const word = main ? c.word : undefined
  const tone = toneOf(word)
  const open = p.open ? ' is-open' : ''
  return (
    <>
      <td class={`num lab-flat${open}`} data-variant={c.variant}>
        <button type="button" class="lab-cell-button" {...p.touch}>
          <span class="lab-value">{f.value === '–' && f.note && !p.compared ? f.note : f.value}</span>
        </button>
      </td>
      <td class={`num dim${open}`}>{f.interval}</td>
      <td class={`num dim${open}`}>{f.n || ''}</td>
      {p.compared && (
        <>
          <td class={`num lab-flat-ratio ${tone}${open}`}>
            {f.ratio ? (
              <span class={`lab-ratio ${tone}`}>
                {main && c.sign ? <span class="lab-sign">{c.sign}</span> : null}
                {f.ratio}
                {word && <span class="lab-word">{word}</span>}
              </span>
            ) : word ? <Verdict sign={c.sign} word={word} /> : <span class="faint">{f.note}</span>}
          </td>
          <td class={`num dim${open}`}>{f.bounds}</td>
          <td class={`num dim${open}`}>{f.ratio_n || ''}</td>
          <td class={`lab-flat-glyph${open}`}>
            {f.of && <Glyph of={f.of} reach={p.reach} margin={main ? p.margin : 0} word={word} />}</td>
        </>
      )}
    </>
  )
}

/** What each trial of a cell measured, next to the cell. */
function Trials({ x, cell, at, left, top }: { x: Experiment; cell: Cell; at: number; left: number; top: number }) {
  const card = useRef<HTMLDivElement>(null)
  const [shift, setShift] = useState(0)
  useLayoutEffect(() => {
    const r = card.current?.getBoundingClientRect()
    if (r && r.right + shift * -1 > innerWidth - 8) setShift(Math.min(left, Math.ceil(r.right - innerWidth + 8)))
  }, [left])
  const v = x.laid.values[at]
  if (!v) return null
  const all = x.runs.filter((t) => t.variant === cell.variant)
  if (all.length === 0) return null
  return (
    <div class="lab-card" ref={card} style={{ left: `${left - shift}px`, top: `${top}px` }} role="status">
      <p class="lab-card-head">{safe(cell.label)}</p>
      <table>
        <tbody>
          {all.slice(0, 14).map((t) => (
            <tr key={t.seq} class={t.invalid ? 'lab-off' : ''}>
              <td class="dim">round {t.round}{t.control ? ', control' : ''}</td>
              <td class="num">{figureOf(t.values?.[v.name], v.unit)}</td>
              <td class="dim">{t.invalid ? 'excluded' : ''}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="faint">{all.length > 14 ? `and ${all.length - 14} more; ` : ''}{v.head}. Click for all.</p>
    </div>
  )
}

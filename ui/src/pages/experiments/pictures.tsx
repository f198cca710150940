// Pictures of a comparison. Everything they show is in the tables too.
import { fromZero, ladder, ofRatios, place, ratioTick, spread, tick, type Axis, type Step } from './scale'
import { safe } from '../../kit'
import { cut, textWidth, useWidth } from './size'
import { toneOf } from './words'
import type { Laid, LaidRung as Rung, LaidStrip as Strip, LaidSweep as Sweep } from '../../core/openapi.gen'

function known(vs: (number | null | undefined)[]): number[] {
  return vs.filter((v): v is number => typeof v === 'number' && Number.isFinite(v))
}

/** A curve over an axis of numbers, with the interval of each point as a band. */
export function SweepPicture({ sweep }: { sweep: Sweep }) {
  const [box, w] = useWidth<HTMLDivElement>()
  const all = sweep.lines.flatMap((l) => [...known(l.center), ...known(l.lo), ...known(l.hi)])
  // An interval that reaches far beyond all centres must not flatten them: its band leaves the picture then.
  const centers = sweep.lines.flatMap((l) => known(l.center))
  const top = Math.max(...centers, 0)
  const low = Math.min(...centers.filter((v) => v > 0), Infinity)
  const held = all.filter((v) => v <= top * 4 && (!sweep.ratio || v >= low / 4))
  const m = sweep.margin ?? 0
  const axis: Axis = sweep.ratio ? ofRatios([...held, 1 + m, 1 / (1 + m)]) : fromZero(held)
  const label = (v: number) => (sweep.ratio ? ratioTick(v, axis) : tick(v))
  const left = Math.ceil(Math.max(28, ...axis.ticks.map((t) => textWidth(label(t)) + 10)))
  const h = 240
  const [t, b, r] = [10, h - 34, w - 14]
  const xs = spread(sweep.x, sweep.log ?? false).map((f) => left + 12 + f * (r - left - 24))
  const y = (v: number) => b - place(axis, v) * (b - t)
  const beyond = all.length > held.length
  return (
    <figure class="lab-picture">
      <figcaption>
        <b>{sweep.title}</b>
        <span class="dim">{sweep.unit}{axis.log ? ', logarithmic axis' : ''}</span>
      </figcaption>
      <Keys names={sweep.lines.map((l) => l.name)} />
      <div ref={box}>
        <svg class="lab-plot" width={w} height={h} role="img" aria-label={spoken(sweep)}>
          {sweep.ratio && m > 0 &&
            <rect class="p-same" x={left} width={Math.max(0, r - left)} y={y(1 + m)}
            height={Math.max(0, y(1 / (1 + m)) - y(1 + m))} />}
          {axis.ticks.map((v) => (
            <g key={v}>
              <line class={sweep.ratio && Math.abs(v - 1) < 1e-9 ? 'p-one' : 'p-grid'} x1={left} x2={r} y1={y(v)}
                y2={y(v)} />
              <text class="p-text" x={left - 7} y={y(v) + 4} text-anchor="end">{label(v)}</text>
            </g>
          ))}
          <line class="p-axis" x1={left} x2={r} y1={b} y2={b} />
          {xs.map((x, i) => (
            <g key={i}>
              <line class="p-axis" x1={x} x2={x} y1={b} y2={b + 4} />
              {(i === 0 || x - (xs[i - 1] ?? 0) > textWidth(sweep.names[i] ?? '') + 4 || i % 2 === 0) && (
                <text class="p-text" x={x} y={b + 17} text-anchor="middle">{cut(sweep.names[i] ?? '', 76)}</text>
              )}
            </g>
          ))}
          <text class="p-text p-faint" x={r} y={b + 31} text-anchor="end">
            {sweep.axis}
            {sweep.log ? ', equal distances are equal factors' : ''}
          </text>
          {sweep.lines.map((l, k) => <path key={k} class={`p-band s${k % 8}`} d={bands(l.lo, l.hi, xs, y)} />)}
          {sweep.lines.map((l, k) => (
            <g key={k} class={`s${k % 8}`}>
              <path class="p-line" d={line(l.center, xs, y)} />
              {l.center.map((v, i) => {
                const x = xs[i]
                if (v === null || x === undefined) return null
                const lo = l.lo[i]
                const hi = l.hi[i]
                return (
                  <g key={i}>
                    {typeof lo === 'number' && typeof hi === 'number' &&
                      <line class="p-whisker" x1={x} x2={x} y1={y(lo)} y2={y(hi)} />}
                    <circle class="p-dot" cx={x} cy={y(v)} r="3.4">
                      <title>
                        {`${l.name}, ${sweep.axis} ${sweep.names[i] ?? ''}: ` +
                          `${sweep.ratio ? '×' : ''}${Number(v.toPrecision(4))}` +
                          (typeof lo === 'number' && typeof hi === 'number'
                            ? ` (${Number(lo.toPrecision(3))}–${Number(hi.toPrecision(3))})` : '') +
                          `, n=${l.n[i] ?? 0}`}</title>
                    </circle>
                  </g>
                )
              })}
            </g>
          ))}
        </svg>
      </div>
      <p class="faint lab-note">
        The bands are the intervals.{beyond ? ' Some extend beyond the chart: see the table.' : ''}
        {sweep.ratio && m > 0 ? ' Ratios within the grey band count as the same.' : ''}
        {sweep.absent.length > 0 ? ` No data points: ${sweep.absent.join('; ')}.` : ''}
      </p>
    </figure>
  )
}

function spoken(s: Sweep): string {
  return `${s.title}; ` +
    s.lines.map(
    (l) =>
    `${l.name}: ` +
    l.center.map((v, i) => `${s.names[i] ?? ''} ${v === null ? 'not measured' : Number(v.toPrecision(3))}`).join(', '))
    .join('; ')
}

/** The names of lines with their colours and dashes. */
function Keys({ names }: { names: string[] }) {
  if (names.length < 2) return null
  return (
    <ul class="lab-keys">
      {names.map((n, i) => (
        <li key={i}>
          <svg width="22" height="8" aria-hidden="true" class={`s${i % 8}`}>
            <line class="p-line" x1="1" x2="21" y1="4" y2="4" />
          </svg>
          {safe(n)}
        </li>
      ))}
    </ul>
  )
}

function line(vs: (number | null)[], xs: number[], y: (v: number) => number): string {
  let d = ''
  let on = false
  vs.forEach((v, i) => {
    const x = xs[i]
    if (v === null || x === undefined) on = false
    else {
      d += `${on ? 'L' : 'M'}${x.toFixed(1)} ${y(v).toFixed(1)}`
      on = true
    }
  })
  return d
}

function bands(lo: (number | null)[], hi: (number | null)[], xs: number[], y: (v: number) => number): string {
  let d = ''
  let run: [number, number, number][] = []
  const end = () => {
    if (run.length > 1)
      d += 'M' + run.map(([x, , h]) => `${x.toFixed(1)} ${h.toFixed(1)}`).join('L') + 'L' +
      [...run].reverse().map(([x, l]) => `${x.toFixed(1)} ${l.toFixed(1)}`).join('L') + 'Z'
    run = []
  }
  lo.forEach((l, i) => {
    const h = hi[i]
    const x = xs[i]
    if (typeof l !== 'number' || typeof h !== 'number' || x === undefined) end()
    else run.push([x, y(l), y(h)])
  })
  end()
  return d
}

/** All ratios with their intervals, one below the other. */
export function Forest({ rungs: all, unit, margin }: { rungs: Rung[]; unit: string; margin: number }) {
  const rungs = flatter(all)
  const [box, w] = useWidth<HTMLDivElement>()
  const vs = rungs.flatMap((r) => (r.of ? [r.of.center, r.of.lo, r.of.hi] : [])).filter((v) => v > 1e-3 && v < 1e3)
  const axis = ofRatios([...vs, 1 + margin, 1 / (1 + margin)])
  const narrow = w < 520
  const left = narrow ? 6 : Math.min(300, Math.max(80, ...rungs.map((r) => textWidth(r.label ?? '') + 14)))
  const figure = 78
  const right = w - figure
  const row = narrow ? 38 : 24
  const x = (v: number) => left + place(axis, v) * (right - left)
  let h = 6
  const rows = rungs.map((r) => {
    h += r.head ? 26 : row
    return { r, at: r.head ? h - 7 : h - (narrow ? 10 : row / 2), label: narrow ? h - 23 : h - row / 2 + 4 }
  })
  const bottom = h + 4
  return (
    <figure class="lab-picture lab-wide">
      <figcaption>
        <b>Every comparison with its interval</b>
        <span class="dim">{unit}{axis.log ? ', logarithmic axis' : ''}</span>
      </figcaption>
      <div ref={box}>
        <svg class="lab-plot" width={w} height={bottom + 24} role="img"
          aria-label={rungs.filter((r) => !r.head).map((r) =>
          `${r.label ?? ''}: ${r.word ?? ''} ${r.text ?? r.note ?? ''}`).join('; ')}>
          {margin > 0 && <rect class="p-same" x={x(1 / (1 + margin))}
            width={Math.max(0, x(1 + margin) - x(1 / (1 + margin)))} y="6" height={bottom - 6} />}
          {axis.ticks.map((v, i) => (
            <g key={v}>
              <line class={Math.abs(v - 1) < 1e-9 ? 'p-one' : 'p-grid'} x1={x(v)} x2={x(v)} y1="6" y2={bottom} />
              {(i === 0 || x(v) - x(axis.ticks[i - 1] ?? 0) > 34 || Math.abs(v - 1) < 1e-9) && (
                <text class="p-text" x={x(v)} y={bottom + 16} text-anchor="middle">{ratioTick(v, axis)}</text>
              )}
            </g>
          ))}
          <line class="p-axis" x1={left} x2={right} y1={bottom} y2={bottom} />
          {rows.map(({ r, at, label }, i) =>
            r.head ? <text key={i} class="p-text p-strong" x="2" y={at}>{cut(r.head, w - 12)}</text> : (
              <g key={i} class={toneOf(r.word)}>
                <text class="p-text" x={narrow ? 6 : left - 10} y={label} text-anchor={narrow ? 'start' : 'end'}>
                  {cut(r.label ?? '', narrow ? w - 12 : left - 12)}
                </text>
                {r.of ? (
                  <>
                    <line class="p-rung" x1={x(r.of.lo)} x2={x(r.of.hi)} y1={at} y2={at} />
                    {r.of.lo >= axis.lo &&
                      <line class="p-rung" x1={x(r.of.lo)} x2={x(r.of.lo)} y1={at - 4} y2={at + 4} />}
                    {r.of.hi <= axis.hi &&
                      <line class="p-rung" x1={x(r.of.hi)} x2={x(r.of.hi)} y1={at - 4} y2={at + 4} />}
                    <circle class="p-center" cx={x(r.of.center)} cy={at} r="4" />
                    <text class="p-text p-figure" x={right + 12} y={at + 4}>{r.text}</text>
                  </>
                ) : <text class="p-text p-verdict" x={left + 6} y={at + 4}>{`${r.sign ?? ''} ${r.note ?? ''}`}</text>}
              </g>
            ),
          )}
        </svg>
      </div>
      {margin > 0 && <p class="faint lab-note">Ratios within the grey band count as the same.</p>}
    </figure>
  )
}

/** A head over a single comparison is next to it. */
function flatter(all: Rung[]): Rung[] {
  const heads = all.filter((r) => r.head).length
  if (heads === 0 || all.length > 2 * heads) return all
  let head = ''
  return all.flatMap((r) => {
    if (r.head) head = r.head
    return r.head ? [] : [{ ...r, label: `${head} · ${r.label ?? ''}` }]
  })
}

/** The steps of an axis whose levels are all compared with its first one. */
export function stepsOf(laid: Laid): Step[] | null {
  if (laid.row_axes.length + laid.column_axes.length !== 1) return null
  const first = laid.cells[0]
  return ladder(
    laid.cells.map((c, i) => ({
      name: c.label, first: i === 0 && !c.against, toFirst: c.against === first?.label, sign: c.sign ?? '',
        word: c.word ?? '', of: c.figures[0]?.of ?? null,
    })),
  )
}

export function Ladder({ steps, axis }: { steps: Step[]; axis: string }) {
  const a = ofRatios(steps.flatMap((s) => (s.total === null ? [] : [s.total])))
  const one = place(a, 1) * 100
  const f = (v: number | null) =>
    (v === null ? '–' : v < 0.1 ? '÷' + (1 / v).toPrecision(3)
    : '×' + (v >= 100 ? Math.round(v) : v >= 10 ? v.toFixed(1) : v.toFixed(2)))
  return (
    <figure class="lab-picture lab-wide">
      <figcaption>
        <b>Step by step</b>
        <span class="dim">factor relative to the first {axis || 'level'} and to the previous step</span>
      </figcaption>
      <div class="lab-grid-box">
      <table class="lab-ladder">
        <thead>
          <tr>
            <th scope="col">{axis}</th>
            <th scope="col" class="num">step</th>
            <th scope="col" class="num">total</th>
            <th scope="col" class="num">interval</th>
            <th scope="col"><span class="hide">as a bar</span></th>
          </tr>
        </thead>
        <tbody>
          {steps.map((s) => {
            const at = s.total === null ? one : place(a, s.total) * 100
            return (
              <tr key={s.name} class={toneOf(s.word)}>
                <th scope="row">{safe(s.name)}</th>
                <td class="num">{s.step === null ? '' : f(s.step)}</td>
                <td class="num"><b>{s.word === 'baseline' ? 'baseline' : f(s.total)}</b></td>
                <td class="num dim">
                  {s.lo === null || s.hi === null ? ''
                  : `${Number(s.lo.toPrecision(3))}–${Number(s.hi.toPrecision(3))}`}</td>
                <td class="lab-ladder-bar">
                  <svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="lab-ladder-fill" x={Math.min(one, at)} width={Math.max(0.4, Math.abs(at - one))} y="2"
                      height="8" />
                    <line class="lab-glyph-one" x1={one} x2={one} y1="0" y2="12" />
                  </svg>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      </div>
      <p class="faint lab-note">A step is the quotient of two ratios' centres and has no interval.</p>
    </figure>
  )
}

/** The seconds of every trial, one strip a variant, rounds side by side. */
export function Strips({ strips, rounds }: { strips: Strip[]; rounds: number }) {
  const [box, w] = useWidth<HTMLDivElement>()
  const narrow = w < 560
  const f = (v: number) => (v >= 100 ? String(Math.round(v)) : v.toPrecision(3))
  const left = narrow ? 2
    : Math.min(260, Math.max(120, ...strips.map(
    (s) => Math.max(textWidth(s.label), s.control ? textWidth(`against itself, to ${f(s.top)}/s`) : 0) + 18)))
  const high = 34
  const pitch = narrow ? 56 : 46
  const right = w - 4
  const each = (right - left) / Math.max(1, rounds)
  const bottom = 4 + pitch * strips.length
  const every = Math.max(1, Math.ceil(30 / each))
  return (
    <figure class="lab-picture lab-wide">
      <figcaption>
        <b>Second by second</b>
        <span class="dim">operations/s of every trial, rounds side by side; each strip spans 0 to the figure next to it
        </span>
      </figcaption>
      <div ref={box}>
        <svg class="lab-plot" width={w} height={bottom + 20} role="img"
          aria-label={`Operations per second of each trial. ` +
            `${strips.map((s) => `${s.label}${s.control ? ', against itself' : ''}: ${s.trials.length} ` +
              `trials`).join('; ')}`}>
          {Array.from({ length: rounds }, (_, r) =>
            r % every === 0 ? (
              <text key={r} class="p-text p-faint" x={left + each * (r + 0.5)} y={bottom + 13} text-anchor="middle">
                {r === 0 && each > 60 ? 'round 1' : r + 1}
              </text>
            ) : null,
          )}
          {strips.map((s, i) => {
            const y0 = 4 + pitch * i + pitch - 6
            const y = (v: number) => y0 - (v / Math.max(s.top, 1e-9)) * high
            return (
              <g key={i}>
                {narrow ? (
                  <text class="p-text" x={left} y={y0 - high - 3}>
                    {cut(s.label, right - left - 130)}
                    {s.control ? ', against itself' : ''}, to {f(s.top)}/s
                  </text>
                ) : (
                  <>
                    <text class="p-text p-strong" x={left - 10} y={y0 - high + 14} text-anchor="end">
                      {cut(s.label, left - 12)}
                    </text>
                    <text class="p-text p-faint" x={left - 10} y={y0 - high + 29} text-anchor="end">
                      {s.control ? 'against itself, ' : ''}to {f(s.top)}/s
                    </text>
                  </>
                )}
                <line class="p-axis" x1={left} x2={right} y1={y0} y2={y0} />
                {s.trials.map((t) => {
                  const a = left + each * (Math.min(rounds, Math.max(1, t.round)) - 1) + 1.5
                  const wide = Math.max(1, each - 3)
                  const dx = wide / Math.max(1, t.rates.length)
                  const d = `M${a.toFixed(1)} ${y0}` +
                    t.rates.map((v, k) =>
                    `L${(a + k * dx).toFixed(1)} ${y(v).toFixed(1)}H${(a + (k + 1) * dx).toFixed(1)}`).join('') +
                    `L${(a + wide).toFixed(1)} ${y0}Z`
                  return (
                    <g key={t.seq}>
                      {t.invalid && <rect class="p-off" x={a} width={wide} y={y0 - high} height={high} />}
                      <path class={`p-strip${t.invalid ? ' lab-off' : ''}${s.control ? ' lab-control' : ''}`} d={d}>
                        <title>
                          {`trial ${t.seq}, round ${t.round}, ${Math.round(t.seconds)} ` +
                            `s${t.invalid ? ': excluded, ' + t.invalid : ''}`}</title>
                      </path>
                    </g>
                  )
                })}
              </g>
            )
          })}
        </svg>
      </div>
    </figure>
  )
}

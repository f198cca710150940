// Small things that stand in a line.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { figure, text } from '../core/format'
import { useParam, withParams } from '../core/url'
import { Button } from './button'
import { Icon, type IconName } from './icons'
import './small.css'

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'unknown'

/** A state in a word, with an icon, never shown by colour alone. */
export function Badge(
  p: { tone: Tone; icon?: IconName | false; children: ComponentChildren; title?: string | undefined }) {
  const icon = p.icon === false ? undefined : (p.icon ?? p.tone)
  return (
    <span class={`badge tone-${p.tone}`} title={p.title}>
      {icon && <Icon name={icon} size={13} />}
      <span>{p.children}</span>
    </span>
  )
}

/** A small line of values one after another; null is a gap. */
export function Spark(
  p: { values: (number | null | undefined)[]; unit?: string; label?: string; width?: number; height?: number
    step?: number; min?: number; fill?: boolean }) {
  const w = p.width ?? 120
  const h = p.height ?? 24
  const known = p.values.filter((v): v is number => v !== null && v !== undefined && Number.isFinite(v))
  const unit = p.unit ?? ''
  const top = known.reduce((a, b) => Math.max(a, b), 0)
  const label =
    `${p.label ? p.label + ': ' : ''}${known.length === 0 ? 'no values' : `from ${text(known[0], unit)} to ` +
      `${text(known[known.length - 1], unit)}, max ${text(top, unit)}`}`
  const { line, area, dots } = sparkPath(p.values, w, h)
  return (
    <svg class="spark" role="img" aria-label={label} width={w} height={h} viewBox={`0 0 ${w} ${h}`}
      preserveAspectRatio="none">
      <title>{label}</title>
      {p.fill !== false && area && <path class="spark-area" d={area} />}
      {line && <path class="spark-line" d={line} />}
      {dots && <path class="spark-dot" d={dots} />}
    </svg>
  )
}

/** The paths of a sparkline over zero. A value alone between gaps is a dot. */
export function sparkPath(values: (number | null | undefined)[], w: number,
  h: number): { line: string; area: string; dots: string } {
  const top = values.reduce<number>((a, b) => (typeof b === 'number' && Number.isFinite(b) ? Math.max(a, b) : a), 0)
  const dx = values.length > 1 ? w / (values.length - 1) : 0
  const y = (v: number) => (h - 1.5 - (top > 0 ? Math.max(0, v) / top : 0) * (h - 3)).toFixed(1)
  let line = ''
  let area = ''
  let dots = ''
  let run: string[] = []
  let begin = 0
  const end = (i: number) => {
    if (run.length === 1) dots += `M${(begin * dx).toFixed(1)} ${run[0]}h.01`
    else if (run.length > 1) {
      const points = run.map((v, k) => `${((begin + k) * dx).toFixed(1)} ${v}`).join('L')
      line += 'M' + points
      area += `M${(begin * dx).toFixed(1)} ${h}L${points}L${((i - 1) * dx).toFixed(1)} ${h}Z`
    }
    run = []
  }
  values.forEach((v, i) => {
    if (typeof v === 'number' && Number.isFinite(v)) {
      if (run.length === 0) begin = i
      run.push(y(v))
    } else end(i)
  })
  end(values.length)
  return { line, area, dots }
}

/** A share of 0..1 as a bar. */
export function Bar(p: { share: number | null | undefined; label?: string; tone?: Tone; width?: number }) {
  const known = typeof p.share === 'number' && Number.isFinite(p.share)
  const s = known ? Math.min(1, Math.max(0, p.share ?? 0)) : 0
  return (
    <span class={`share${p.tone ? ' tone-' + p.tone : ''}`} role="img"
      aria-label={`${p.label ? p.label + ' ' : ''}${text(p.share, 'ratio')}`}
      style={p.width ? { width: `${p.width}px` } : {}}>
      <span class="share-fill" style={{ width: `${s * 100}%` }} />
    </span>
  )
}

/** A figure with its name: the numbers at the head of a page. */
export function Figure(
  p: { label: string; value: number | null
  | undefined; unit: string; note?: ComponentChildren; tone?: Tone; title?: string; href?: string }) {
  const f = figure(p.value, p.unit)
  return (
    <div class="figure" title={p.title}>
      <div class="figure-label">{p.href ? <a href={p.href}>{p.label}</a> : p.label}</div>
      <div class={`figure-value${p.tone ? ' tone-' + p.tone : ''}`}>
        {f.value}
        {f.unit && <span class="unit">{f.unit}</span>}
      </div>
      {p.note && <div class="figure-note">{p.note}</div>}
    </div>
  )
}

/** A number in a cell: its unit smaller behind it. */
export function Num({ v, unit }: { v: number | null | undefined; unit: string }) {
  const f = figure(v, unit)
  return <span class="nowrap">{f.value}{f.unit && <span class="unit">{f.unit}</span>}</span>
}

/** Copies a text. */
export function Copy({ text, label = 'Copy', bare }: { text: string; label?: string; bare?: boolean }) {
  const [done, setDone] = useState<'' | 'yes' | 'no'>('')
  const timer = useRef<ReturnType<typeof setTimeout>>()
  useEffect(() => () => clearTimeout(timer.current), [])
  const copy = async () => {
    const ok = await toClipboard(text)
    setDone(ok ? 'yes' : 'no')
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setDone(''), 2000)
  }
  const word = done === 'yes' ? 'Copied' : done === 'no' ? 'Copy failed: select and copy it manually' : label
  return (
    <span class="copy" aria-live="polite">
      {bare ? (
        <Button small kind="quiet" icon={done === 'yes' ? 'check' : 'copy'} label={word} onClick={() => void copy()} />
      ) : <Button small icon={done === 'yes' ? 'check' : 'copy'} onClick={() => void copy()}>{word}</Button>}
    </span>
  )
}

async function toClipboard(s: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(s)
    return true
  } catch {
    // not a secure context, or not allowed: the old way
  }
  const t = document.createElement('textarea')
  t.value = s
  t.className = 'hide' ;(document.querySelector('dialog[open]') ?? document.body).append(t)
  t.select()
  const ok = document.execCommand('copy')
  t.remove()
  return ok
}

/** Tabs; which one is in the URL. The first is the one without a parameter. */
export function Tabs(
  { param = 'tab', items,
  label }: { param?: string; label?: string; items: { key: string; name: ComponentChildren; count?: number
  | null }[] }) {
  const [at] = useParam(param, items[0]?.key ?? '')
  const list = useRef<HTMLDivElement>(null)
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={(e) => {
        if (e.key !== 'ArrowRight' && e.key !== 'ArrowLeft') return
        const all = [...(list.current?.querySelectorAll<HTMLElement>('[role=tab]') ?? [])]
        const i = all.findIndex((x) => x === document.activeElement)
        const next = all[(i + (e.key === 'ArrowRight' ? 1 : all.length - 1)) % all.length]
        next?.focus()
        next?.click()
        e.preventDefault()
      }}>
      {items.map((x, i) => (
        <a key={x.key} role="tab" class="tab" aria-selected={x.key === at} tabIndex={x.key === at ? 0 : -1}
          href={withParams({ [param]: i === 0 ? null : x.key })}>
          {x.name}
          {typeof x.count === 'number' && <span class="tab-count">{x.count}</span>}
        </a>
      ))}
    </div>
  )
}

/** A word that explains itself on hover and to those who listen. */
export function Term({ children, about }: { children: ComponentChildren; about: string }) {
  return <abbr class="term" title={about}>{children}</abbr>
}

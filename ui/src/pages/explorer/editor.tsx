// A field for PromQL that completes names, labels, values and functions.
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { prometheus, useData } from '../../core'
import { Button, safe } from '../../kit'
import { chosen, errorAt, fitting, functions, placeAt, quote, type Place, type Suggestion } from './complete'

/** What is known of the metrics of a target. */
export interface Metric { name: string; kind: string; help: string }

interface Listing { data: string[] }

export interface EditorProps {
  value: string
  target: string
  window: string
  metrics: Metric[]
  label: string
  error: string | undefined
  autofocus?: boolean
  run: (expr: string) => void
  remove: (() => void) | undefined
}

export function Editor(p: EditorProps) {
  const [text, setText] = useState(p.value)
  const [at, setAt] = useState<number>() // where the cursor is while it completes
  const [picked, pick] = useState(-1)
  const field = useRef<HTMLTextAreaElement>(null)
  const cursor = useRef<number>()
  const id = useId()
  useEffect(() => setText(p.value), [p.value])
  const fit = () => {
    const el = field.current
    if (!el) return
    el.style.height = 'auto'
    el.style.height = `${el.scrollHeight + 2}px`
  }
  useEffect(() => {
    addEventListener('resize', fit)
    return () => removeEventListener('resize', fit)
  }, [])
  useLayoutEffect(() => {
    const el = field.current
    if (!el) return
    fit()
    if (cursor.current === undefined) return
    el.setSelectionRange(cursor.current, cursor.current)
    cursor.current = undefined
  }, [text])
  useEffect(() => { if (p.autofocus) field.current?.focus() }, [])

  const place = at === undefined ? undefined : placeAt(text, at)
  const list = useSuggestions(place, p.target, p.metrics)
  const open = place !== undefined && list.length > 0
  useEffect(() => pick(-1), [place?.from, place?.word, place?.kind])

  const take = (s: Suggestion) => {
    if (!place) return
    const counter = p.metrics.find((m) => m.name === s.text)?.kind === 'counter'
    const x = chosen(text, place, s, p.target, p.window, counter)
    cursor.current = x.at
    setText(x.text)
    field.current?.focus()
    // A whole expression is shown at once; a label or function goes on.
    const whole = s.sort === 'metric'
    setAt(whole || s.sort === 'value' ? undefined : x.at)
    if (whole && text.trim() === place.word) p.run(x.text)
  }
  const run = () => {
    setAt(undefined)
    p.run(text.replace(/\s*\n\s*/g, ' ').trim())
  }
  const onKeyDown = (e: KeyboardEvent) => {
    if ((e.key === ' ' && e.ctrlKey) || (e.key === 'ArrowDown' && text === '' && !open)) setAt(field.current?.selectionStart)
    else if (open && (e.key === 'ArrowDown' || e.key === 'ArrowUp'))
      pick((picked + (e.key === 'ArrowDown' ? 1 : list.length)) % list.length)
    else if (open && e.key === 'Escape') setAt(undefined)
    else if (open && picked >= 0 && (e.key === 'Enter' || e.key === 'Tab')) take(list[picked] as Suggestion)
    else if (e.key === 'Enter') run()
    else return
    e.preventDefault()
    e.stopPropagation()
  }
  const told = p.error === undefined || text !== p.value ? undefined : errorAt(p.error)
  const where = told === undefined ? undefined : Math.max(0, Math.min(told, p.value.length - 1)) // some are behind it
  return (
    <div class="ex-editor">
      <textarea ref={field} class="input mono" rows={1} value={text} spellcheck={false} autocomplete="off"
        aria-label={p.label} role="combobox" aria-expanded={open} aria-controls={`${id}-list`}
        aria-autocomplete="list" aria-activedescendant={open && picked >= 0 ? `${id}-${picked}` : undefined}
        aria-invalid={p.error !== undefined} placeholder="PromQL, or part of a metric's name"
        onInput={(e) => {
          setText(e.currentTarget.value)
          setAt(e.currentTarget.selectionStart)
        }} onClick={() => setAt(undefined)}
        onBlur={() => setAt(undefined)} onKeyDown={onKeyDown} />
      <Button kind="main" onClick={run}>Run</Button>
      {p.remove && <Button kind="quiet" icon="close" label={`Remove ${p.label}`} onClick={p.remove} />}
      {open && (
        <ul class="ex-list" id={`${id}-list`} role="listbox" aria-label="Completions">
          {list.map((s, i) => (
            <li key={s.sort + s.text} id={`${id}-${i}`} role="option" aria-selected={i === picked}
              ref={(el) => { if (i === picked) el?.scrollIntoView({ block: 'nearest' }) }}
              onMouseDown={(e) => {
                e.preventDefault()
                take(s)
              }}>
              <span class="mono">{safe(s.text)}</span>
              <span class="faint">{s.sort === 'metric' || s.sort === 'function' ? safe(s.about) : ''}</span>
            </li>
          ))}
        </ul>
      )}
      {p.error !== undefined && (
        <div class="ex-error" role="alert">
          {where !== undefined && (
            <pre class="mono" aria-hidden="true">
              {safe(p.value.slice(0, where))}<mark>{safe(p.value.slice(where, where + 1)) || ' '}</mark>
              {safe(p.value.slice(where + 1))}
            </pre>
          )}
          {safe(p.error)}
        </div>
      )}
    </div>
  )
}

/** What fits at a place: names of metrics and functions at once, labels and values as the store has them. */
function useSuggestions(place: Place | undefined, target: string, metrics: Metric[]): Suggestion[] {
  const match = place?.metric ? place.metric + `{target=${quote(target)}}` : `{target=${quote(target)}}`
  const path = place?.kind === 'label' ? 'labels' : place?.kind === 'value' ? `label/${place.label}/values` : undefined
  const found = useData(path === undefined ? null : `${path}\n${match}`,
    (signal) => prometheus<Listing>(path ?? '', place?.label === 'target' ? {} : { 'match[]': match }, signal))
  return useMemo(() => {
    if (!place) return []
    if (place.kind === 'name')
      return fitting([...(place.word === '' ? [] : functions),
        ...metrics.map((m): Suggestion => ({ text: m.name, sort: 'metric', about: m.help }))], place.word)
    const sort = place.kind
    return fitting((found.value?.data ?? []).filter((x) => sort === 'value' || x !== '__name__')
      .map((text) => ({ text, sort, about: '' })), place.word)
  }, [place?.kind, place?.word, metrics, found.value])
}

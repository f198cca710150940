import { useEffect, useRef, useState } from 'preact/hooks'
import { useParam } from '../core/url'
import { Icon } from './icons'

/**
 * The page's search field: "/" goes there, Esc empties it. What is typed is in the URL after a moment, without a
 * step for the back button.
 */
export function Search({ param = 'q', label, placeholder }: { param?: string; label: string; placeholder?: string }) {
  const [q, setQ] = useParam(param)
  const [typed, setTyped] = useState(q)
  const timer = useRef<ReturnType<typeof setTimeout>>()
  const mine = useRef(q)
  useEffect(() => {
    if (q !== mine.current) {
      mine.current = q
      setTyped(q)
    }
  }, [q])
  useEffect(() => () => clearTimeout(timer.current), [])
  const change = (v: string) => {
    setTyped(v)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      mine.current = v
      setQ(v === '' ? null : v, { replace: true })
    }, 150)
  }
  return (
    <div class="search">
      <Icon name="search" />
      <input class="input" type="search" data-search aria-label={label} placeholder={placeholder ?? label} value={typed}
        spellcheck={false} autocomplete="off" onInput={(e) => change(e.currentTarget.value)} onKeyDown={(e) => {
          if (e.key !== 'Escape') return
          if (typed === '') e.currentTarget.blur()
          else change('')
          e.preventDefault()
        }} />
      {typed === '' && <kbd aria-hidden="true">/</kbd>}
    </div>
  )
}

import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { RefObject } from 'preact'
import { safe } from '../../kit/sqltext'

/** The width that an element has, in pixels, as it changes. */
export function useWidth<T extends HTMLElement>(none = 640): [RefObject<T>, number] {
  const box = useRef<T>(null)
  const [width, setWidth] = useState(none)
  useLayoutEffect(() => {
    const el = box.current
    if (!el) return
    const read = () => {
      const w = Math.floor(el.clientWidth)
      if (w > 0) setWidth(w)
    }
    read()
    const watch = new ResizeObserver(read)
    watch.observe(el)
    return () => watch.disconnect()
  }, [])
  return [box, width]
}

/** About how wide a text of the pictures is. */
export function textWidth(s: string): number {
  return s.length * 6.3
}

/** A text for a picture: what fits, with its odd characters by name. */
export function cut(text: string, width: number): string {
  const s = safe(text)
  const n = Math.max(3, Math.floor(width / 6.3))
  return s.length > n ? s.slice(0, n - 1) + '…' : s
}

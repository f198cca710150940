import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useKeys } from '../core/keys'
import { useParam } from '../core/url'
import { Icon } from './icons'
import { Empty } from './state'
import { narrow } from './narrow'
import { sorted, tabStop, windowOf } from './tablerows'
import './table.css'

export interface Column<T> {
  key: string
  head: ComponentChildren
  unit?: string // beside the head, when all cells have it
  align?: 'left' | 'right'
  sort?: (a: T, b: T) => number // ascending
  // sorts by it in place of sort; what is not known goes last both ways
  value?: (row: T) => number | string | null | undefined
  first?: 'up' | 'down' // order of the first press; right-aligned columns begin with the greatest
  cell: (row: T) => ComponentChildren
  width?: number | string
  title?: string // explains the column
  class?: string
  lead?: boolean // comes first on a narrow screen
}

export interface TableProps<T> {
  columns: Column<T>[]
  rows: T[]
  rowKey: (row: T) => string
  label?: string // read aloud
  selected?: string | null
  onOpen?: (row: T) => void
  sortParam?: string // of the URL: "load", "-load"
  sort?: string // order without the parameter
  empty?: ComponentChildren
  height?: string // of the part that scrolls, when there are many rows
  rowClass?: (row: T) => string
  class?: string
}

const many = 200

/**
 * A table. Heads sort by click and by keyboard; with onOpen, j and k move between rows and Enter opens one. Of more
 * than 200 rows only those in sight are drawn.
 */
export function Table<T>(p: TableProps<T>) {
  const [order, setOrder] = useParam(p.sortParam ?? 'sort', p.sort ?? '')
  const rows = useMemo(() => sorted(p.rows, p.columns, order), [p.rows, p.columns, order])
  const virtual = rows.length > many
  const box = useRef<HTMLDivElement>(null)
  const body = useRef<HTMLTableSectionElement>(null)
  const [top, setTop] = useState(0)
  const [size, setSize] = useState({ row: 33, view: 600 })
  const [active, setActive] = useState<string | null>(null)
  const focusNext = useRef<string | null>(null)

  useLayoutEffect(() => {
    if (!virtual) return
    const r = body.current?.querySelector<HTMLElement>('tr[data-key]')?.getBoundingClientRect().height
    const view = box.current?.clientHeight
    if (r && view && (Math.abs(r - size.row) > 0.5 || view !== size.view)) setSize({ row: r, view })
  })
  const w = virtual ? windowOf(rows.length, size.row, top, size.view) : { first: 0, last: rows.length }
  const shown = virtual ? rows.slice(w.first, w.last) : rows

  // Which row the keyboard is on: the focused one, else the selected one, else the first.
  const at = active !== null && rows.some((r) => p.rowKey(r) === active) ? active
    : (p.selected ?? (rows[0] ? p.rowKey(rows[0]) : null))
  const openable = p.onOpen !== undefined
  const stop = tabStop(shown.map(p.rowKey), at, Math.ceil(top / size.row) - w.first)

  const focusRow = (key: string) => {
    const tr = [...(body.current?.querySelectorAll<HTMLElement>('tr[data-key]') ?? [])].find(
      (x) => x.dataset['key'] === key)
    if (tr) {
      tr.focus({ preventScroll: true })
      tr.scrollIntoView({ block: 'nearest' })
    }
    return tr !== undefined
  }
  useEffect(() => {
    if (focusNext.current !== null && focusRow(focusNext.current)) focusNext.current = null
  })
  const move = (by: number | 'first' | 'last') => {
    const i = rows.findIndex((r) => p.rowKey(r) === at)
    const here = body.current?.contains(document.activeElement) ?? false
    const next = by === 'first' ? 0 : by === 'last' ? rows.length - 1
      : here ? Math.min(rows.length - 1, Math.max(0, i + by)) : Math.max(0, i)
    const row = rows[next]
    if (!row) return
    const key = p.rowKey(row)
    setActive(key)
    if (!focusRow(key) && box.current) {
      focusNext.current = key
      box.current.scrollTop = Math.max(0, next * size.row - size.view / 2)
    }
  }
  useKeys(
    openable ? { j: { help: 'next row', run: () => move(1) }, k: { help: 'previous row', run: () => move(-1) } } : {},
  )

  const onKeyDown = (e: JSX.TargetedKeyboardEvent<HTMLTableSectionElement>) => {
    if (!openable || !(e.target instanceof HTMLTableRowElement)) return
    const by = ({ ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: 'first', End: 'last' } as const)[e.key]
    if (by !== undefined) {
      move(by)
      e.preventDefault()
    } else if (e.key === 'Enter') {
      const row = rows.find((r) => p.rowKey(r) === at)
      if (row) p.onOpen?.(row)
      e.preventDefault()
    }
  }

  if (rows.length === 0) return <>{p.empty ?? <Empty title="No data" />}</>
  const by = order.replace(/^-/, '')
  const columns = narrow.value ? [...p.columns.filter((c) => c.lead), ...p.columns.filter((c) => !c.lead)] : p.columns
  return (
    <div ref={box} class={`table-box${virtual ? ' virtual' : ''} ${p.class ?? ''}`}
      style={virtual ? { height: p.height ?? 'min(70vh, 720px)' } : {}}
      onScroll={virtual ? (e) => setTop(e.currentTarget.scrollTop) : undefined} tabIndex={openable ? undefined : 0}
      role="region" aria-label={p.label ?? 'table'}>
      <table class="table" aria-rowcount={virtual ? rows.length + 1 : undefined}>
        <thead>
          <tr>
            {columns.map((c) => {
              const on = c.key === by
              const down = order.startsWith('-')
              const start = c.first ?? (c.align === 'right' ? 'down' : 'up')
              const next = on ? (down ? c.key : '-' + c.key) : start === 'down' ? '-' + c.key : c.key
              const name = <>{c.head}{c.unit && <span class="unit">{c.unit}</span>}</>
              return (
                <th key={c.key} scope="col" class={c.align === 'right' ? 'num' : ''}
                  style={c.width !== undefined ? { width: typeof c.width === 'number' ? `${c.width}px` : c.width } : {}}
                  aria-sort={on ? (down ? 'descending' : 'ascending') : undefined} title={c.title}>
                  {c.sort || c.value ? (
                    <button type="button" class={`sort${on ? ' on' : ''}`}
                      onClick={() => setOrder(next, { replace: true })}>
                      {name}
                      <Icon name={on && !down ? 'up' : 'down'} size={12} />
                    </button>
                  ) : (name)}
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={onKeyDown}>
          {w.first > 0 && <tr class="space" aria-hidden="true" style={{ height: `${w.first * size.row}px` }} />}
          {shown.map((r, i) => {
            const key = p.rowKey(r)
            return (
              <tr key={key} data-key={key} class={`${openable ? 'openable' : ''} ${p.rowClass?.(r) ?? ''}`}
                aria-selected={openable ? key === p.selected : undefined}
                aria-rowindex={virtual ? w.first + i + 2 : undefined}
                tabIndex={openable ? (key === stop ? 0 : -1) : undefined}
                onFocus={openable ? () => setActive(key) : undefined} onClick={
                  openable
                    ? (e) => {
                        // Links and buttons in a row do what they do; a selection of text is no click.
                        if (e.target instanceof Element && e.target.closest('a,button,input,select,label')) return
                        if (String(getSelection() ?? '') !== '') return
                        p.onOpen?.(r)
                      }
                    : undefined
                }>
                {columns.map((c) => (
                  <td key={c.key} class={`${c.align === 'right' ? 'num' : ''} ${c.class ?? ''}`}>{c.cell(r)}</td>
                ))}
              </tr>
            )
          })}
          {w.last < rows.length &&
            <tr class="space" aria-hidden="true" style={{ height: `${(rows.length - w.last) * size.row}px` }} />}
        </tbody>
      </table>
    </div>
  )
}

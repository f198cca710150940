// Values that are followed: a component that reads one while it is drawn is drawn again when it changes.
import { options, type Component, type VNode } from 'preact'
import 'preact/hooks' // it stands in the way of the same calls as this, and has to stand further in

export interface ReadonlySignal<T> {
  /** The value; reading it follows it. */
  readonly value: T
  /** The value, not followed. */
  peek(): T
}

interface Signal<T> extends ReadonlySignal<T> { value: T }

/** A follower of values. */
interface Reader {
  read: Set<Value<unknown>> // what it follows
  changed(): void // one of them is another now
}

let reader: Reader | undefined // who reads now

class Value<T> implements Signal<T> {
  readers = new Set<Reader>()
  constructor(protected now: T) {}

  peek(): T {
    return this.now
  }

  get value(): T {
    const r = reader
    if (r) {
      r.read.add(this as Value<unknown>)
      this.readers.add(r)
      if (this.readers.size === 1) this.begin()
    }
    return this.peek()
  }

  set value(v: T) {
    if (v === this.now) return
    this.now = v
    for (const r of [...this.readers]) r.changed()
  }

  /** Called when it gets its first follower. */
  begin(): void {}

  /** Called when it loses its last follower. */
  end(): void {}
}

/** What is worked out of other values; it follows them as long as it is followed itself. */
class Computed<T> extends Value<T | undefined> implements Reader {
  read = new Set<Value<unknown>>()
  constructor(private work: () => T) {
    super(undefined)
  }

  override peek(): T {
    return this.read.size > 0 ? (this.now as T) : as(undefined, this.work)
  }

  override begin(): void {
    if (this.read.size === 0) this.now = this.again()
  }

  override end(): void {
    leave(this, this.read)
    this.read.clear()
  }

  changed(): void {
    this.value = this.again()
  }

  private again(): T {
    const before = this.read
    this.read = new Set()
    const v = as(this, this.work)
    leave(this, before)
    return v
  }
}

/** Does something as r: what it reads r follows from now on. */
function as<T>(r: Reader | undefined, work: () => T): T {
  const outer = reader
  reader = r
  try {
    return work()
  } finally {
    reader = outer
  }
}

/** Follows no longer what was read before and not again. */
function leave(r: Reader, before: Set<Value<unknown>>): void {
  const still = r.read === before ? undefined : r.read
  for (const s of before) if (!still?.has(s) && s.readers.delete(r) && s.readers.size === 0) s.end()
}

export function signal<T>(v: T): Signal<T> {
  return new Value(v)
}

/** A computed value; its followers are called only when it is another one. */
export function computed<T>(work: () => T): ReadonlySignal<T> {
  return new Computed(work) as ReadonlySignal<T>
}

/** Calls f with the value now and whenever it is another one, for good. */
export function follow<T>(s: ReadonlySignal<T>, f: (v: T) => void): void {
  const r: Reader = { read: new Set(), changed: () => f(s.peek()) }
  as(r, () => s.value)
  r.changed()
}

// Preact calls these, by their names in its build, round the drawing of each component.
interface Calls {
  __r?: (v: Drawn) => void // before it is drawn
  diffed?: (v: Drawn) => void // after what is in it
  unmount?: (v: Drawn) => void
  __e?: (...about: unknown[]) => void // it threw
}
type Drawn = VNode & { __c?: Component | null }

const calls = options as unknown as Calls
const { __r, diffed, unmount, __e } = calls
const readers = new WeakMap<Component, Reader>()
let before = new Set<Value<unknown>>() // what the one that is drawn now followed

function done(): void {
  const r = reader
  reader = undefined
  if (r) leave(r, before)
}

calls.__r = (v) => {
  done()
  __r?.(v)
  const c = v.__c
  if (!c) return
  let r = readers.get(c)
  if (!r) {
    r = { read: new Set(), changed: () => c.setState({}) }
    readers.set(c, r)
  }
  before = r.read
  r.read = new Set()
  reader = r
}
calls.diffed = (v) => {
  done()
  diffed?.(v)
}
calls.unmount = (v) => {
  unmount?.(v)
  const r = v.__c && readers.get(v.__c)
  if (r) leave(r, r.read)
}
calls.__e = (...about) => {
  done()
  __e?.(...about)
}

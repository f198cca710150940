import { expect, test } from 'vitest'
import { computed, follow, signal } from './signal'

test('followers are called when the value is another one', () => {
  const a = signal(1)
  const seen: number[] = []
  follow(a, (v) => seen.push(v))
  a.value = 2
  a.value = 2
  a.value = 3
  expect(seen).toEqual([1, 2, 3])
})

test('followers of a computed value are called only when it is another one', () => {
  const a = signal(1)
  let works = 0
  const even = computed(() => {
    works++
    return a.value % 2 === 0
  })
  expect(even.value).toBe(false) // not followed: worked out when asked
  const seen: boolean[] = []
  follow(even, (v) => seen.push(v))
  a.value = 3
  a.value = 4
  a.value = 6
  expect(seen).toEqual([false, true])
  expect(even.peek()).toBe(true)
  expect(works).toBe(5)
})

test('what is read only at times is followed only then', () => {
  const which = signal('a')
  const a = signal(1)
  const b = signal(10)
  const one = computed(() => (which.value === 'a' ? a.value : b.value))
  const twice = computed(() => 2 * one.value)
  const seen: number[] = []
  follow(twice, (v) => seen.push(v))
  b.value = 11
  which.value = 'b'
  a.value = 2
  b.value = 12
  expect(seen).toEqual([2, 22, 24])
})

test('looking follows nothing', () => {
  const a = signal(1)
  let works = 0
  const c = computed(() => {
    works++
    return a.peek()
  })
  follow(c, () => undefined)
  a.value = 2
  expect(works).toBeGreaterThan(0)
  expect(c.peek()).toBe(2)
})

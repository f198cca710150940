import { expect, test } from 'vitest'
import { chosen, duration, errorAt, expressionOf, fitting, functions, namesOf, placeAt, stepFor, unitOf,
  type Suggestion } from './complete'

/** The place at | in a text. */
function at(marked: string) {
  const i = marked.indexOf('|')
  return placeAt(marked.slice(0, i) + marked.slice(i + 1), i)
}

test('what stands at the cursor', () => {
  const f = (marked: string, kind: string | undefined, word = '', metric = '', label = '') => {
    const p = at(marked)
    expect([marked, p?.kind, p?.word ?? '', p?.metric ?? '', p?.label ?? '']).toEqual(
      [marked, kind, word, metric, label])
  }
  f('|', 'name')
  f('mysql_gl|', 'name', 'mysql_gl')
  f('sum(ra|', 'name', 'ra')
  f('sum(rate(x{|', 'label', '', 'x')
  f('x{ta|}', 'label', 'ta', 'x')
  f('x{target="s|', 'value', 's', 'x', 'target')
  f('x{target="shop",command=~"s|"}', 'value', 's', 'x', 'command')
  f('x{target="shop",|}', 'label', '', 'x')
  f('x{target="shop"|}', undefined)
  f('x{target|="shop"}', 'label', 'target', 'x')
  f('x{a="}"} + y|', 'name', 'y') // a brace in a string is none
  f('rate(x[1|', undefined)
  f('rate(x[|', undefined)
  f('sum by (ta|', 'label', 'ta')
  f('sum by (|) (x)', 'label')
  f('sum(x) + |', 'name')
  f('12|', undefined)
  f('x # no|', undefined)
  f('{__name__="my|', 'value', 'my', '', '__name__')
})

test('what is chosen is put in its place', () => {
  const put = (marked: string, text: string, sort: Suggestion['sort'], counter = true) => {
    const i = marked.indexOf('|')
    const s = marked.slice(0, i) + marked.slice(i + 1)
    const p = placeAt(s, i)
    if (!p) throw new Error(marked)
    const x = chosen(s, p, { text, sort, about: '' }, 'shop', '1m', counter)
    return x.text.slice(0, x.at) + '|' + x.text.slice(x.at)
  }
  expect(put('que|', 'questions', 'metric')).toBe('sum(rate(questions{target="shop"}[1m]))|')
  expect(put('thr|', 'threads', 'metric', false)).toBe('threads{target="shop"}|')
  expect(put('rate(que|[5m])', 'questions', 'metric')).toBe('rate(questions{target="shop"}|[5m])')
  expect(put('rate(que|{a="b"}[5m])', 'questions', 'metric')).toBe('rate(questions|{a="b"}[5m])')
  expect(put('ra|', 'rate', 'function')).toBe('rate(|)')
  expect(put('x{comm|}', 'command', 'label')).toBe('x{command="|"}')
  expect(put('x{comm|="a"}', 'command', 'label')).toBe('x{command|="a"}')
  expect(put('sum by (comm|) (x)', 'command', 'label')).toBe('sum by (command|) (x)')
  expect(put('x{command="s|"}', 'select', 'value')).toBe('x{command="select|"}')
  expect(put('x{command="s|', 'sel"ect', 'value')).toBe('x{command="sel\\"ect"|')
})

test('what fits', () => {
  const names = ['mysql_global_status_handlers_total', 'handlers', 'status'].map((text): Suggestion =>
    ({ text, sort: 'metric', about: '' }))
  expect(fitting(names, 'hand').map((x) => x.text)).toEqual(['handlers', 'mysql_global_status_handlers_total'])
  expect(fitting(names, 'handl_status').map((x) => x.text)).toEqual(['mysql_global_status_handlers_total'])
  expect(fitting(functions, 'rat')[0]?.text).toBe('rate')
})

test('the small ones', () => {
  expect(expressionOf('x', true, 'a"b', '5m')).toBe('sum(rate(x{target="a\\"b"}[5m]))')
  expect(errorAt('invalid parameter "query": 1:5: parse error: unexpected end')).toBe(4)
  expect(errorAt('too many samples')).toBeUndefined()
  expect([stepFor(300), stepFor(3600), stepFor(86400 * 400)]).toEqual([1, 10, 86400])
  expect([duration(1), duration(60), duration(5400), duration(86400)]).toEqual(['1s', '1m', '90m', '1d'])
  expect(unitOf('sum(rate(x_bytes_total[1m]))')).toBe('B/s')
  expect(unitOf('a_bytes / b_bytes')).toBe('')
  expect(namesOf([{ __name__: 'a', target: 's', h: '1' }, { __name__: 'a', target: 's', h: '2' }])).toEqual(['1', '2'])
  expect(namesOf([{ __name__: 'a' }, { __name__: 'b', h: '1' }])).toEqual(['a', 'b{h="1"}'])
  expect(namesOf([{}])).toEqual([''])
})

import { describe, expect, it } from 'vitest'
import { pieces, safe } from './sqltext'

const kinds = (sql: string) => pieces(sql).map((p) => `${p.kind || '-'}:${p.text}`)
const whole = (sql: string) => pieces(sql).map((p) => p.text).join('')

describe('pieces', () => {
  it('distinguishes words, strings, numbers and comments', () => {
    expect(kinds("SELECT a FROM `t` WHERE b = 'x''y\\'z' AND c > 1.5e3 -- end")).toEqual([
      'word:SELECT', '-: a ', 'word:FROM', '-: `t` ', 'word:WHERE', '-: b = ', "string:'x''y\\'z'", '-: ', 'word:AND',
        '-: c > ', 'number:1.5e3', '-: ', 'comment:-- end',
    ])
    expect(kinds('a--1')).toEqual(['-:a--', 'number:1']) // not a comment in MySQL
    expect(kinds('/* open')).toEqual(['comment:/* open'])
    expect(kinds("'open")).toEqual(["string:'open"])
    expect(kinds('t1.select2')).toEqual(['-:t1.select2'])
  })
  it('loses nothing', () => {
    for (const s of ['', 'SELECT 1', "a'b", '/**/`x', '# c\nSELECT', '\\', "\n\t ';'"]) expect(whole(s)).toBe(s)
  })
  it('is never markup', () => {
    const s = "SELECT '<img src=x onerror=alert(1)>', \"</pre><script>\""
    expect(whole(s)).toBe(s)
  })
  it('shows what hides', () => {
    expect(kinds("'a\u202eb\u0000'")).toEqual(["string:'a", 'odd:⟨RLO⟩', 'string:b', 'odd:⟨NUL⟩', "string:'"])
    expect(kinds('x\u200by')).toEqual(['-:x', 'odd:⟨ZWSP⟩', '-:y'])
    expect(kinds('\ud800')).toEqual(['odd:⟨U+D800⟩'])
    expect(kinds("'😀 ä 漢'")).toEqual(["string:'😀 ä 漢'"])
    expect(pieces('\u202e', true)[0]?.kind).toBe('odd')
  })
  it('takes a megabyte in no time', () => {
    const start = Date.now()
    for (const s of ["('x',1),".repeat(125_000), "'".repeat(999_999), '/*'.repeat(500_000), '`'.repeat(999_999),
      '-'.repeat(999_999), '\u202e'.repeat(100_000)]) pieces(s)
    expect(Date.now() - start).toBeLessThan(5000)
  })
})

describe('safe', () => {
  it('names odd characters in plain text', () => {
    expect(safe('a\u202eb')).toBe('a⟨RLO⟩b')
    expect(safe('plain ä 漢 😀')).toBe('plain ä 漢 😀')
  })
})

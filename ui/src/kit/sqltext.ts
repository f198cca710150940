// What a statement is cut into before it is shown.

export interface Piece { kind: '' | 'word' | 'string' | 'number' | 'comment' | 'odd'; text: string; title?: string }

const words = new Set(
  (
    'select from where and or not in is null like between exists join inner left right outer cross on using group ' +
      'by having order limit offset ' +
    'union all distinct as insert into values update set delete replace create table index unique key primary ' +
      'foreign references drop alter add column ' +
    'modify change rename truncate call begin start transaction commit rollback savepoint with recursive case ' +
      'when then else end asc desc ' +
    'force use ignore lock for share procedure function trigger view database schema if grant revoke show explain ' +
      'analyze describe kill ' +
    'true false default interval over partition window rows range straight_join sql_no_cache duplicate load data ' +
      'infile returning engine'
  ).split(' '),
)

// What hides, turns or controls: C0 and C1 but tab and line ends, soft hyphen, bidi marks, embeddings and isolates,
// zero-width and invisible operators, tags, variation selectors, byte order mark, replacement character, lone
// surrogates.
const odd = join('u',
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e]/u,
  /[\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffd\u{e0000}-\u{e007f}]|[\ud800-\udfff]/u)

function join(flags: string, ...parts: RegExp[]): RegExp {
  return new RegExp(parts.map((p) => p.source).join('|'), flags)
}

const names: Record<string, string> = {
  '0': 'NUL', '1b': 'ESC', '7f': 'DEL', 'ad': 'SHY', '61c': 'ALM', '200b': 'ZWSP', '200c': 'ZWNJ', '200d': 'ZWJ',
    '200e': 'LRM', '200f': 'RLM', '2028': 'LSEP', '2029': 'PSEP',
  '202a': 'LRE', '202b': 'RLE', '202c': 'PDF', '202d': 'LRO', '202e': 'RLO', '2060': 'WJ', '2066': 'LRI', '2067': 'RLI',
    '2068': 'FSI', '2069': 'PDI', 'feff': 'BOM',
  'fffd': 'not UTF-8',
}

/** How an odd character is shown: ⟨RLO⟩, ⟨U+0085⟩. */
function nameOf(c: string): string {
  const code = c.codePointAt(0) ?? 0
  const hex = code.toString(16)
  return `⟨${names[hex] ?? 'U+' + hex.toUpperCase().padStart(4, '0')}⟩`
}

/** A text with its odd characters by name, for places that show plain text (titles, cells of tables). */
export function safe(s: string): string {
  return odd.test(s) ? s.replace(new RegExp(odd, 'gu'), nameOf) : s
}

const token = join('g',
  /(\/\*[\s\S]*?(?:\*\/|$)|--(?:[ \t][^\n]*|(?=\n|$))|#[^\n]*)/,
  /('(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|"(?:[^"\\]|\\[\s\S]|"")*(?:"|$))|(`[^`]*(?:`|$))/,
  /([A-Za-z_$][\w$]*)|((?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w$]))/)

/** Cuts a statement into pieces; together they are all of it. With plain only odd characters are distinguished. */
export function pieces(sql: string, plain = false): Piece[] {
  const out: Piece[] = []
  const put = (kind: Piece['kind'], s: string) => {
    if (s === '') return
    if (!odd.test(s)) {
      const last = out[out.length - 1]
      if (kind === '' && last?.kind === '') last.text += s
      else out.push({ kind, text: s })
      return
    }
    let at = 0
    for (const m of s.matchAll(new RegExp(odd, 'gu'))) {
      if (m.index > at) out.push({ kind, text: s.slice(at, m.index) })
      const code = (m[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
      out.push({ kind: 'odd', text: nameOf(m[0]), title: `invisible character U+${code}` })
      at = m.index + m[0].length
    }
    if (at < s.length) out.push({ kind, text: s.slice(at) })
  }
  if (plain) {
    put('', sql)
    return out
  }
  let at = 0
  for (const m of sql.matchAll(token)) {
    put('', sql.slice(at, m.index))
    at = m.index + m[0].length
    if (m[1] !== undefined) put('comment', m[1])
    else if (m[2] !== undefined) put('string', m[2])
    else if (m[4] !== undefined) put(words.has(m[4].toLowerCase()) ? 'word' : '', m[4])
    else if (m[5] !== undefined) put('number', m[5])
    else put('', m[0])
  }
  put('', sql.slice(at))
  return out
}

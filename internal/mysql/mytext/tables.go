package mytext

import (
	"bytes"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// Tables returns schema and name of the tables that sql names, in the order of their first place, each as often as it
// is written differently: those that pt-query-digest finds. Schema is "" where the statement has none. It looks for
// what follows FROM, JOIN, INTO and UPDATE, and knows no grammar: a word after FOR UPDATE or in EXTRACT(… FROM …) may
// count as a table.
func Tables(sql []byte) [][2]string {
	var tables [][2]string
	seen := map[string]bool{}
	for _, ref := range references(sql) {
		if seen[ref] {
			continue
		}
		seen[ref] = true
		schema, name, ok := bytes.Cut([]byte(ref), []byte("."))
		if !ok || len(name) == 0 {
			schema, name = nil, schema
		}
		if rest := bytes.IndexByte(name, '.'); rest >= 0 {
			name = name[:rest]
		}
		tables = append(tables, [2]string{unquoted(schema), unquoted(name)})
	}
	return tables
}

// TableNames returns what Tables finds as people write it: schema.table, or table.
func TableNames(sql []byte) (names []string) {
	for _, t := range Tables(sql) {
		name := t[1]
		if t[0] != "" {
			name = t[0] + "." + name
		}
		names = append(names, name)
	}
	return names
}

// unquoted returns a name without its quotes.
func unquoted(name []byte) string {
	name = bytes.TrimPrefix(name, []byte("`"))
	name = bytes.TrimSuffix(name, []byte("`"))
	return string(bytes.ReplaceAll(name, []byte("``"), []byte("`")))
}

const reference = "(?:`[^`]+`|[0-9A-Za-z_]+)(?:\\.(?:`[^`]+`|[0-9A-Za-z_]+))?"

var (
	ifExists     = lazyregexp.New(`(?i)IF\s+(?:NOT\s+)?EXISTS`)
	ifExistsWord = lazyregexp.New(`(?i)\s+IF(?:\s+NOT)?\s+EXISTS`)
	definesAs    = lazyregexp.New(`(?i)CREATE\b.+?\bSELECT\b`)
	selects      = lazyregexp.New(`(?is)\bSELECT\b.+`)
	definedTable = lazyregexp.New("(?i)TABLE\\s+(" + reference + ")")
	definedName  = lazyregexp.New("(?i)(?:TABLE|DATABASE)\\s+(" + reference + ")")
	loadsInto    = lazyregexp.New(`(?i)INTO TABLE\s+(\S+)`)
	lockTables   = lazyregexp.New(`(?i)^\s*LOCK TABLES\s+`)
	lockKind     = lazyregexp.New(`(?i)\s+(?:READ(?:\s+LOCAL)?|WRITE)\s*`)
)

// references returns the tables as they are written.
func references(sql []byte) []string {
	if verb := defining(sql); verb != "" {
		return defined(sql, verb)
	}
	b := withoutWords(sql)
	if head(b) == "lock" {
		if loc := lockTables.FindIndex(b); loc != nil {
			b = append([]byte("FROM "), lockKind.ReplaceAll(b[loc[1]:], nil)...)
		}
	}
	t := text{b, make([]byte, len(b))}
	t.escapes()
	t.strings('"')
	t.strings('\'')
	b = t.b
	lead := len(b) - len(bytes.TrimLeft(b, spaces))
	for _, verb := range []string{"insert", "replace"} {
		if !hasFold(b[lead:], verb) {
			continue
		}
		rest := bytes.TrimLeft(b[lead+len(verb):], spaces)
		if n := len(b[lead+len(verb):]) - len(rest); n > 0 && !hasFold(rest, "into") {
			b = append([]byte("INTO "), rest...)
		}
	}
	if hasFold(b[lead:], "load data") {
		if m := loadsInto.FindSubmatch(b); m != nil {
			return []string{string(m[1])}
		}
		return nil
	}
	return named(b)
}

// defined returns the table of a statement that defines, changes or drops one.
func defined(sql []byte, verb string) []string {
	if loc := ifExists.FindIndex(sql); loc != nil {
		sql = append(append([]byte(nil), sql[:loc[0]]...), sql[loc[1]:]...)
	}
	if i := foldIndex(sql, verb+" database"); i >= 0 && !wordAt(sql, i+len(verb)+len(" database")) {
		return nil
	}
	if verb == "create" && definesAs.Match(sql) {
		return references(selects.Find(sql))
	}
	if m := definedTable.FindSubmatch(sql); m != nil {
		return []string{string(m[1])}
	}
	return nil
}

// withoutWords leaves out words that may stand before a table's name, wherever they end a word.
func withoutWords(sql []byte) []byte {
	out := make([]byte, 0, len(sql))
next:
	for i := 0; i < len(sql); {
		switch sql[i] | 0x20 {
		case 'l', 'i', 's', 'd':
			for _, w := range []string{"low_priority", "ignore", "straight_join", "delayed"} {
				end := i + len(w)
				if hasFold(sql[i:], w) && end < len(sql) && isSpace(sql[end]) {
					for end < len(sql) && isSpace(sql[end]) {
						end++
					}
					out = append(out, ' ')
					i = end
					continue next
				}
			}
		}
		out = append(out, sql[i])
		i++
	}
	return out
}

// named returns what follows the words that stand before tables.
func named(b []byte) (tables []string) {
	for i := 0; i < len(b); {
		if !isWord(b[i]) {
			i++
			continue
		}
		j := i
		for j < len(b) && isWord(b[j]) {
			j++
		}
		w := b[i:j]
		begin := i
		i = j
		switch {
		case len(w) == 4 && (hasFold(w, "from") || hasFold(w, "join") || hasFold(w, "into")):
		case len(w) == 6 && hasFold(w, "update") && !afterKey(b[:begin]):
		default:
			continue
		}
		k := skipSpace(b, j)
		if k < len(b) && b[k] == '(' {
			k++
		}
		end := referenceEnd(b, k)
		if end == 0 {
			continue
		}
		first := len(tables)
		if isSelect := hasFold(b[k:end], "select") && (end-k == len("select") || b[k+len("select")] == '.'); !isSelect {
			tables = add(tables, b[k:end])
		} else {
			first = -1
		}
		for {
			next := listed(b, end)
			if next == 0 {
				break
			}
			end = referenceEnd(b, next)
			if first >= 0 {
				tables = add(tables, b[next:end])
			}
		}
		i = end
	}
	return tables
}

// add appends a table unless it has no letter.
func add(tables []string, ref []byte) []string {
	for _, c := range ref {
		if isLetter(c) {
			return append(tables, string(ref))
		}
	}
	return tables
}

// listed returns where the next table of a list begins, behind the alias of the one that ends at i; 0 for nowhere.
func listed(b []byte, i int) int {
	comma := func(j int) int {
		if j == len(b) || b[j] != ',' {
			return 0
		}
		j = skipSpace(b, j+1)
		if referenceEnd(b, j) == 0 {
			return 0
		}
		return j
	}
	word := func(j int) int { // the end of the word behind white space, 0 for none
		k := skipSpace(b, j)
		e := k
		for e < len(b) && isWord(b[e]) {
			e++
		}
		if k == j || e == k {
			return 0
		}
		return e
	}
	if one := word(i); one > 0 {
		if one-i > 2 && hasFold(b[one-2:], "as") && isSpace(b[one-3]) {
			if two := word(one); two > 0 && comma(two) > 0 {
				return comma(two)
			}
		}
		return comma(one)
	}
	return comma(i)
}

// referenceEnd returns the index after the name of a table, with or without schema, that begins at i; 0 for none.
func referenceEnd(b []byte, i int) int {
	name := func(i int) int {
		j := i
		if j < len(b) && b[j] == '`' {
			n := bytes.IndexByte(b[j+1:], '`')
			if n <= 0 {
				return 0
			}
			return j + 1 + n + 1
		}
		for j < len(b) && isWord(b[j]) {
			j++
		}
		if j == i {
			return 0
		}
		return j
	}
	end := name(i)
	if end > 0 && end < len(b) && b[end] == '.' {
		if more := name(end + 1); more > 0 {
			return more
		}
	}
	return end
}

// afterKey reports whether b ends with KEY and one byte of white space.
func afterKey(b []byte) bool {
	n := len(b) - len("key ")
	return n >= 0 && hasFold(b[n:], "key") && isSpace(b[n+3])
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func wordAt(b []byte, i int) bool { return i < len(b) && isWord(b[i]) }

// foldIndex finds the lower-case word in b in any case; -1 for nowhere.
func foldIndex(b []byte, word string) int {
	for i := 0; i+len(word) <= len(b); i++ {
		if b[i]|0x20 == word[0]|0x20 && hasFold(b[i:], word) {
			return i
		}
	}
	return -1
}

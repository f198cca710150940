package mytext

import (
	"bytes"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// Item returns the short form of a statement by which reports name its class: its verbs and tables, digits in names as
// ?, as in pt-query-digest's profile: "SELECT UNION t?", "INSERT a.b", "SHOW TABLE STATUS", "CREATE TABLE t", "ADMIN
// QUIT", "CALL p", "COMMIT". It is "" when there is no verb and no table in it. It shows no literal.
func Item(sql string) string {
	s := []byte(sql)
	verbs, table := verbsOf(s)
	switch {
	case strings.HasPrefix(verbs, "SHOW"):
		for _, a := range [][2]string{{"SCHEMA", "DATABASE"}, {"KEYS", "INDEX"}, {"INDEXES", "INDEX"}} {
			verbs = strings.Replace(verbs, a[0], a[1], 1)
		}
		return verbs
	case strings.HasPrefix(verbs, "LOAD DATA"):
		return verbs
	}
	words := []string{verbs}
	refs := references(s)
	for i, ref := range refs {
		refs[i] = itemName(ref)
	}
	if table != "" {
		refs = append(refs, table)
	}
	for i, ref := range refs {
		if i == 0 || refs[i-1] != ref {
			words = append(words, ref)
		}
	}
	return strings.Join(words, " ")
}

// itemName is a table's name without quotes, with one ? for digits in a row.
func itemName(ref string) string {
	out := make([]byte, 0, len(ref))
	for i := 0; i < len(ref); i++ {
		switch c := ref[i]; {
		case c == '`':
		case isDigit(c):
			if i == 0 || !isDigit(ref[i-1]) {
				out = append(out, '?')
			}
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

var (
	itemUse     = lazyregexp.New(`\A\s*use\s+`)
	itemUnlock  = lazyregexp.New(`(?i)\A\s*UNLOCK TABLES`)
	itemXA      = lazyregexp.New(`(?i)\A\s*xa\s+([0-9A-Za-z_]+)`)
	itemShow    = lazyregexp.New(`(?i)\A\s*SHOW\s+`)
	showKind    = lazyregexp.New(`\s+(?:SESSION|FULL|STORAGE|ENGINE)\b`)
	showCount   = lazyregexp.New(`\s+COUNT[^)]+\)`)
	showRest    = lazyregexp.New(`(?s)\s+(?:FOR|FROM|LIKE|WHERE|LIMIT|IN)\b.+`)
	showWords   = lazyregexp.New(`(?s)\A(SHOW(?:\s+\S+){1,2}).*\z`)
	showVersion = lazyregexp.New(`(?ism)^(?:SHOW).*?/\*![0-9]+(.*?)\*/`)
	showComment = lazyregexp.New(`(?sm)/\*.*?[0-9]+.*?\*/`)
	someSpace   = lazyregexp.New(`\s+`)
)

// verbsOf returns what a statement does, and the table or database of one that defines it.
func verbsOf(s []byte) (verbs, table string) {
	switch head(s) {
	case "call":
		if name := called(s); name != nil {
			return "CALL " + string(name), ""
		}
	case "use":
		if itemUse.Match(s) {
			return "USE", ""
		}
	case "unlock":
		if itemUnlock.Match(s) {
			return "UNLOCK", ""
		}
	case "xa":
		if m := itemXA.FindSubmatch(s); m != nil {
			return "XA_" + string(m[1]), ""
		}
	case "administrator":
		if command, ok := bytes.CutPrefix(AppendFingerprint(nil, s), []byte("administrator command:")); ok {
			return "ADMIN" + string(upper(command)), ""
		}
	}
	if t := bytes.TrimLeft(s, spaces); hasFold(t, "load") {
		name := ""
		if m := loadsInto.FindSubmatch(s); m != nil {
			name = string(bytes.ReplaceAll(m[1], []byte("`"), nil))
		}
		return "LOAD DATA " + name, ""
	}
	s = uncommented(s)
	if head(s) == "show" && itemShow.Match(s) {
		return shows(s), ""
	}
	if verb := defining(s); verb != "" {
		return defines(s, verb)
	}
	return actions(s), ""
}

// head returns the first word of s in lower case.
func head(s []byte) string {
	s = bytes.TrimLeft(s, spaces)
	n := 0
	for n < len(s) && n < len("administrator") && isWord(s[n]) {
		n++
	}
	return string(lower(append(make([]byte, 0, 16), s[:n]...)))
}

// defining returns the verb, in lower case, of a statement that defines, changes or drops a table or another object; ""
// for others.
func defining(s []byte) string {
	switch h := head(s); h {
	case "create", "alter", "truncate", "drop", "rename":
		return h
	}
	return ""
}

// longestShown is how long what SHOW has in a comment for a version may be, in bytes: GLOBAL, SESSION, FULL.
const longestShown = 100

// uncommented leaves out comments, of whatever is one to pt-query-digest.
func uncommented(s []byte) []byte {
	t := text{bytes.Clone(s), make([]byte, len(s))}
	t.comments()
	t.lines()
	if !bytes.Contains(t.b, []byte("/*!")) {
		return t.b
	}
	// It stands for every such comment: a long one would make a short text a huge one.
	if m := showVersion.FindSubmatch(t.b); m != nil && len(m[1]) <= longestShown {
		return showComment.ReplaceAllLiteral(t.b, m[1])
	}
	return t.b
}

// shows returns SHOW and what it shows.
func shows(s []byte) string {
	s = upper(s)
	s = showKind.ReplaceAllLiteral(s, []byte(" "))
	s = showCount.ReplaceAllLiteral(s, nil)
	s = showRest.ReplaceAllLiteral(s, nil)
	if m := showWords.FindSubmatch(s); m != nil {
		s = m[1]
	}
	s = someSpace.ReplaceAllLiteral(s, []byte(" "))
	for i, c := range s { // nothing that is shown has such a name
		if isQuote(c) || isDigit(c) && !isWord(s[i-1]) {
			s = s[:i]
			break
		}
	}
	return string(s)
}

func upper(s []byte) []byte {
	out := bytes.Clone(s)
	for i, c := range out {
		if 'a' <= c && c <= 'z' {
			out[i] = c - 'a' + 'A'
		}
	}
	return out
}

// defines returns CREATE or its kin with TABLE or DATABASE, and the name of that.
func defines(s []byte, verb string) (verbs, name string) {
	if loc := ifExistsWord.FindIndex(s); loc != nil {
		s = append(append(append([]byte(nil), s[:loc[0]]...), ' '), s[loc[1]:]...)
	}
	verbs = strings.ToUpper(verb)
	// The last of the two words on the line, with something between.
	for at := 0; ; {
		n := foldIndex(s[at:], verb)
		if n < 0 {
			break
		}
		at += n + len(verb)
		line := s[at:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		last, object := 0, ""
		for _, o := range []string{"DATABASE", "TABLE"} {
			for i := len(line) - len(o); i > last; i-- {
				if hasFold(line[i:], strings.ToLower(o)) && !wordAt(line, i+len(o)) {
					last, object = i, o
					break
				}
			}
		}
		if object != "" {
			verbs += " " + object
			break
		}
		at += len(line)
	}
	if m := definedName.FindSubmatch(s); m != nil {
		name = string(m[1])
	}
	return verbs, name
}

// verbWords are found anywhere in a statement, those that begin with ^ at its beginning only.
var verbWords = []string{
	"^show", "^flush", "^commit", "^rollback", "^begin", "select", "insert", "update", "delete",
	"replace", "^set", "union", "^start", "^lock",
}

// actions returns the verbs of a statement, each once in a row. A SELECT does nothing else, whatever is in it, but
// UNION.
func actions(s []byte) string {
	var verbs []string
	union := false
	for i := 0; i < len(s); {
		if !isWord(s[i]) {
			i++
			continue
		}
		j := i
		for j < len(s) && isWord(s[j]) {
			j++
		}
		for _, v := range verbWords {
			bare := strings.TrimPrefix(v, "^")
			if len(bare) != j-i || bare != v && i > 0 || !hasFold(s[i:], bare) {
				continue
			}
			union = union || bare == "union"
			if n := len(verbs); n == 0 || verbs[n-1] != bare {
				verbs = append(verbs, bare)
			}
			break
		}
		i = j
	}
	if len(verbs) > 1 && verbs[0] == "select" {
		verbs = verbs[:1]
		if union {
			verbs = append(verbs, "union")
		}
	}
	return strings.ToUpper(strings.Join(verbs, " "))
}

package mytext

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

var kindNames = [...]string{"sign", "space", "comment", "code", "word", "number", "name", "string", "open"}

// tokens writes a text's tokens, but for the space between them.
func tokens(sql string) string {
	var out []string
	for i := 0; i < len(sql); {
		kind, end := Next(sql, i)
		if kind != Space {
			out = append(out, kindNames[kind]+" "+sql[i:end])
		}
		i = end
	}
	return strings.Join(out, "|")
}

func TestNext(t *testing.T) {
	f := func(sql, want string) {
		t.Helper()
		if got := tokens(sql); got != want {
			t.Errorf("%q:\n%s\n%s", sql, got, want)
		}
	}
	f("", "")
	f("SELECT a$b, ü1\v\f= 1.5e3", "word SELECT|word a$b|sign ,|word ü1|sign =|number 1|sign .|number 5e3")
	f("t.1a 0x1F -1", "word t|sign .|number 1a|number 0x1F|sign -|number 1")
	f(`'a\'b' "c\\" 'd''e'`, `string 'a\'b'|string "c\\"|string 'd'|string 'e'`)
	f("`a\\` `b``c`", "name `a\\`|name `b`|name `c`")
	f(`'"' "'" x'4f'`, `string '"'|string "'"|word x|string '4f'`)
	f("'a", "open 'a")
	f(`'a\`, `open 'a\`)
	f("`a\n'", "open `a\n'")
	f("a # 'b\r c\nd -- \"e\n--\tf", "word a|comment # 'b\r c|word d|comment -- \"e|comment --\tf")
	f("a--1 --\x01b\n--", "word a|sign -|sign -|number 1|comment --\x01b|comment --")
	f("--\x7fa", "sign -|sign -|sign \x7f|word a")
	f("/**/ /*/*/ /* ' */ /*+ h(t) */", "comment /**/|comment /*/*/|comment /* ' */|comment /*+ h(t) */")
	f("/*!*/ /*!40101 a */ /*M!100100 b */ /*M*/ /*m!*/", "code /*!*/|code /*!40101 a */|code /*M!100100 b "+
		"*/|comment /*M*/|comment /*m!*/")
	f("a /* b", "word a|open /* b")
	f("/*! b", "open /*! b")
	f("a/b*/c", "word a|sign /|word b|sign *|sign /|word c")
}

func TestQuoted(t *testing.T) {
	for sql, want := range map[string]int{
		"'a' b": 3, "'a''b'": 6, `"a\""""`: 7, "``": 2, "'a''b": -1, "'": -1,
		"''''''": 6, "'a'\"b\"": 3,
	} {
		end, closed := Quoted(sql, 0)
		if closed != (want >= 0) || closed && end != want || !closed && end != len(sql) {
			t.Errorf("%s: %d, %v", sql, end, closed)
		}
	}
}

func TestCutName(t *testing.T) {
	f := func(text, name, rest string) {
		t.Helper()
		if n, r := CutName(text); n != name || r != rest {
			t.Errorf("%s: %q, %q", text, n, r)
		}
	}
	f("", "", "")
	f("app.t", "app", ".t")
	f("2024_é$ x", "2024_é$", " x")
	f("`a``b.c`.`d`", "a`b.c", ".`d`")
	f("`a\\`.x", "a\\", ".x")
	f(`"a""b" x`, `a"b`, " x")
	f(`"a\" x`, "", "")
	f("`a", "", "")
	f("'a'", "", "")
	f("*.*", "", "")
	f("/*x*/a", "", "")
}

func TestExecuted(t *testing.T) {
	for sql, want := range map[string]string{
		"/*! a */": " a */", "/*!a": "a", "/*!40101 a": " a", "/*!1001001 a": "1 a", "/*M!100100a": "a", "/*M!": "",
		"/*!": "",
	} {
		if from, ok := Executed(sql, 0); !ok || sql[from:] != want {
			t.Errorf("%s: %d, %v", sql, from, ok)
		}
	}
	for _, sql := range []string{"/* !", "/*M", "/*", "/", "a", "'/*!'", "/!40101"} {
		if from, ok := Executed(sql, 0); ok || from != 0 {
			t.Errorf("%s: %d, %v", sql, from, ok)
		}
	}
}

func TestBody(t *testing.T) {
	for sql, want := range map[string]string{
		"": "", " \n": "", "ALTER": "ALTER", "/**//* a */ -- b\n#c\n--\n  DROP /* d */": "DROP /* d */",
		"/*/ x */DROP": "DROP",
		"/* open":      "/* open", "# open": "", "/*!50001 a */ b": "b",
	} {
		if got := Body(sql); got != want {
			t.Errorf("%q: %q, want %q", sql, got, want)
		}
	}
}

// pieces are what texts are made of whose tokens may be hard to tell apart.
var pieces = strings.Split("'|'|\"|`|\\|/*|*/|/*!|/*!40101 |/*M!|/*+|--|-- |#|\n|\r| "+
	"|\t|\f|\x00|a|b1|1|1e5|0x1F|.|,|(|)|;|select |in (|values (|"+
	"null|@|=|?|é|x|insert into t values (|true|+|-|/|*|!|it's|'a', |'b''c'|\"d\" ", "|")

func generated(r *rand.Rand) []byte {
	var s []byte
	for range 1 + r.IntN(16) {
		s = append(s, pieces[r.IntN(len(pieces))]...)
	}
	return s
}

// TestHotLoopsAgree holds the loops that are made for speed to Next: that each of their steps ends where a token does,
// that read leaves out the comments and the strings that Next finds, and that to a Keyer all Strings are alike.
func TestHotLoopsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	texts := [][]byte{}
	for _, p := range corpus(t) {
		texts = append(texts, []byte(p.SQL))
	}
	for range 300_000 {
		texts = append(texts, generated(r))
	}
	wholes, keys := 0, 0
	for _, s := range texts {
		whole, key := agree(t, s)
		if t.Failed() {
			return
		}
		if whole {
			wholes++
		}
		if key {
			keys++
		}
	}
	if wholes < 10_000 || keys < 10_000 {
		t.Errorf("only %d whole statements and %d keys were compared", wholes, keys)
	}
}

// agree compares what is said of one text, and whether read and a Keyer took it for a statement that has one meaning
// only.
func agree(t *testing.T, s []byte) (whole, key bool) {
	t.Helper()
	for i, c := range s {
		kind, end := Next(s, i)
		if k, e := Next(string(s), i); k != kind || e != end {
			t.Errorf("%q at %d: %d to %d, as a string %d to %d", s, i, kind, end, k, e)
		}
		switch {
		case isQuote(c):
			if n, _ := stringEnd(s, i); n != end {
				t.Errorf("%q at %d: a string to %d, want %d", s, i, n, end)
			}
		case c == '`':
			if n := bytes.IndexByte(s[i+1:], '`'); n < 0 != (kind == Open) || n >= 0 && i+1+n+1 != end {
				t.Errorf("%q at %d: a name to %d, want %d", s, i, n, end)
			}
		case c == '/' && kind != Sign:
			if n := commentEnd(s, i); n == 0 != (kind == Open) || n > 0 && n != end {
				t.Errorf("%q at %d: a comment to %d, want %d", s, i, n, end)
			}
		case kind == Comment: // pt-query-digest ends it at a \r as well
			if n := lineEnd(s, i); n != end && s[n] != '\r' {
				t.Errorf("%q at %d: a comment to %d, want %d", s, i, n, end)
			}
		}
	}
	// What read has its reasons to take in another way: the line of a comment ends at a \r too, two dashes are enough
	// for one, but not always with a control character behind them, of an INSERT the first row is enough, and a quote
	// of a name that nothing closes stands alone.
	special := insertInto(s) > 0 || bytes.IndexByte(s, '\r') >= 0
	var plain, marked []byte
	for i := 0; i < len(s); {
		kind, end := Next(s, i)
		token := s[i:end]
		if _, code := Executed(s, i); code && s[i+2] == '!' {
			kind, end = Sign, i+1
			token = s[i:end]
		}
		dashes := s[i] == '-' && i+1 < len(s) && s[i+1] == '-' && (i+2 == len(s) || !isSpace(s[i+2]))
		special = special || kind == Open || dashes || isRepeat(token)
		switch kind {
		case Comment, Code:
			marked = append(marked, token...)
		case String:
			plain = append(plain, fresh)
			marked = append(marked, s[i], 'q', s[i])
		default:
			plain, marked = append(plain, token...), append(marked, token...)
		}
		i = end
	}
	if got, met := read(nil, s); met&odd == 0 && !special {
		whole = true
		if !bytes.Equal(got, plain) {
			t.Errorf("%q\nread gives %q\nwant       %q", s, got, plain)
		}
	}
	k := &Keyer{}
	if a, ok := k.Key(s); ok && !special {
		key = true
		if b, ok := k.Key(marked); !ok || a != b {
			t.Errorf("the key of %q is not that of %q", s, marked)
		}
	}
	return whole, key
}

func FuzzNext(f *testing.F) {
	for _, p := range corpus(f) {
		f.Add([]byte(p.SQL))
	}
	for _, p := range pieces {
		f.Add([]byte("select " + p + "'a' /* b */ `c`"))
	}
	f.Fuzz(func(t *testing.T, s []byte) { agree(t, s) })
}

func TestNextAllocatesNothing(t *testing.T) {
	s := []byte("/* a */ SELECT `a`, 'b' /*!40101 c */ FROM t -- d\nWHERE e = 1.5 AND f = 'g")
	n := testing.AllocsPerRun(100, func() {
		for i := 0; i < len(s); {
			_, i = Next(s, i)
			_, _ = Executed(s, min(i, len(s)-1))
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

package wire

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// answerOf builds an answer of the binary protocol by hand: columns, unless they are cached, and n rows of one text.
func answerOf(caps Caps, described bool, rows, size int) []byte {
	var b []byte
	seq := byte(1)
	add := func(payload string) {
		start := len(b)
		b = seal(append(append(b, 0, 0, 0, 0), payload...), start, seq)
		seq++
	}
	switch {
	case !caps.Has(CacheMetadata):
		add("\x01")
	case described:
		add("\x01\x01")
	default:
		add("\x01\x00")
	}
	if described {
		add("\x03def\x06sbtest\x07sbtest1\x07sbtest1\x01c\x01c\x0c\x2d\x00\xe0\x01\x00\x00\xfe\x01\x00\x00\x00\x00")
	}
	for range rows {
		add("\x00\x00" + string(rune(size)) + strings.Repeat("x", size))
	}
	add("\xfe\x00\x00\x02\x00\x00\x00")
	return b
}

// preparedOf returns a statement as ExpectPrepare leaves it: one number in, one text out.
func preparedOf() *Stmt {
	return &Stmt{ID: 1, Params: 1, Columns: []Column{{Type: 0xfe}}, plan: []op{opBytes}}
}

// drain feeds an answer and reads it to its end.
func drain(tb testing.TB, r *Reader, b []byte) (rows, size int) {
	r.Feed(b)
	for {
		ev, err := r.Next()
		switch {
		case err != nil:
			tb.Fatal(err)
		case ev == Row:
			rows++
			size += len(r.Row()[0].Bytes)
		case ev == Done:
			return rows, size
		default:
			tb.Fatal("the answer does not end")
		}
	}
}

func BenchmarkPointSelect(b *testing.B) {
	for _, x := range []struct {
		name      string
		caps      Caps
		described bool
	}{{"mariadb", DeprecateEOF | CacheMetadata, false}, {"mysql", DeprecateEOF, true}} {
		b.Run(x.name, func(b *testing.B) {
			s, r, out, in := preparedOf(), Reader{Caps: x.caps}, make([]byte, 0, 256),
				answerOf(x.caps, x.described, 1, 119)
			args := []Value{{Kind: Int, Bits: 42}}
			b.ReportAllocs()
			for b.Loop() {
				args[0].Bits++
				out = s.AppendExecute(out[:0], args)
				r.ExpectRows(s)
				drain(b, &r, in)
			}
		})
	}
}

func BenchmarkHundredRows(b *testing.B) {
	s, r, in := preparedOf(), Reader{Caps: DeprecateEOF}, answerOf(DeprecateEOF, true, 100, 119)
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		r.ExpectRows(s)
		drain(b, &r, in)
	}
}

func BenchmarkQueryText(b *testing.B) {
	out, sql := make([]byte, 0, 256), []byte("SELECT c FROM sbtest1 WHERE id=50137")
	for b.Loop() {
		out = AppendQuery(out[:0], sql)
	}
}

// TestNothingAllocates pins what the hot path costs the garbage collector: nothing.
func TestNothingAllocates(t *testing.T) {
	f := func(what string, run func()) {
		t.Helper()
		run() // finds its room
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	args := []Value{{Kind: Int, Bits: 7}}
	out := make([]byte, 0, 1024)
	for _, caps := range []Caps{DeprecateEOF, DeprecateEOF | CacheMetadata} {
		// the older forms are in the captures, see below
		s, r := preparedOf(), Reader{Caps: caps}
		in := answerOf(caps, true, 20, 119)
		f(fmt.Sprintf("execute, %x", caps), func() {
			out = s.AppendExecute(out[:0], args)
			r.ExpectRows(s)
			if rows, size := drain(t, &r, in); rows != 20 || size != 20*119 {
				t.Fatalf("%d rows, %d bytes", rows, size)
			}
		})
		f(fmt.Sprintf("execute, in pieces, %x", caps), func() {
			r.ExpectRows(s)
			for i := 0; i < len(in); i += 7 {
				r.Feed(in[i:min(i+7, len(in))])
				for ev := Row; ev == Row; {
					var err error
					if ev, err = r.Next(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !r.Idle() {
				t.Fatal("not at the end")
			}
		})
	}
	sql := []byte("SELECT c FROM sbtest1 WHERE id=50137")
	f("query", func() { out = AppendQuery(out[:0], sql) })
	five := &Stmt{ID: 2, Params: 5}
	mixed := []Value{{Kind: Int, Bits: 1}, {Kind: Uint, Bits: 2}, {Kind: Float}, {Kind: Bytes, Bytes: sql}, {}}
	f("execute with values of all kinds", func() { out = five.AppendExecute(out[:0], mixed) })
	f("execute with changing types", func() {
		out = five.AppendExecute(out[:0], mixed)
		mixed[0], mixed[1], mixed[2], mixed[3], mixed[4] = mixed[4], mixed[0], mixed[1], mixed[2], mixed[3]
	})
	f("ping, close, quit", func() { out = AppendQuit(AppendClose(AppendPing(out[:0]), five)) })
	for _, variant := range []string{"mariadb-all", "mariadb-old", "mysql-all", "mysql-old"} {
		b := readCapture(t, "text-types-"+variant)
		text := Reader{Caps: unpackCaps(b[0])}
		f("every type in text, "+variant, func() {
			text.ExpectText()
			if rows, _ := drain(t, &text, b[1:]); rows != 2 {
				t.Fatal(rows)
			}
		})
		b = readCapture(t, "binary-types-"+variant)
		bin, s := Reader{Caps: unpackCaps(b[0])}, &Stmt{}
		bin.ExpectPrepare(s)
		_, used := play(t, &bin, b[1:], 1)
		f("every type in binary, "+variant, func() {
			bin.ExpectRows(s)
			if rows, _ := drain(t, &bin, b[1+used:]); rows != 2 {
				t.Fatal(rows)
			}
		})
	}
}

func readCapture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(captures + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

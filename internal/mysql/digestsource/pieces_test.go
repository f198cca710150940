package digestsource

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// marked is the simplest kind of log: an entry begins with a line that begins with "# ".
var marked = lines{
	cut: func(b []byte) int {
		if i := bytes.LastIndex(b, []byte("\n# ")); i >= 0 {
			return i + 1
		}
		return 0
	},
	first: func(b []byte) int {
		if i := bytes.Index(b, []byte("\n# ")); i >= 0 {
			return i + 1
		}
		return -1
	},
	mark: "\n# ",
}

func TestPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var log strings.Builder
	for range 300 {
		log.WriteString("# " + strings.Repeat("x", rng.IntN(90)) + "\n" + strings.Repeat("line\n", rng.IntN(40)))
	}
	f := func(log string, size, limit int, want []string) {
		t.Helper()
		p := newPieces(iotest.HalfReader(strings.NewReader(log)), marked, size, limit, &buffers{size: size})
		var got []string
		at := int64(0)
		for {
			x, ok := p.next()
			if !ok {
				break
			}
			if x.offset != at && len(p.skipped) == 0 {
				t.Fatalf("piece of %d bytes at %d, want at %d", len(x.data), x.offset, at)
			}
			at = x.offset + int64(len(x.data))
			got = append(got, string(x.data))
			clear(x.buf[len(x.data):cap(x.buf)]) // what follows a piece was kept elsewhere
			p.done(x)
		}
		if want == nil { // whole, and between entries
			if strings.Join(got, "") != log {
				t.Fatalf("pieces of %d: joined they are not the log", size)
			}
			for i, g := range got {
				if i > 0 && !strings.HasPrefix(g, "# ") {
					t.Fatalf("pieces of %d: number %d begins within an entry: %.20q", size, i, g)
				}
			}
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%d pieces %q, want %d", len(got), got, len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("piece %d is %q, want %q", i, got[i], want[i])
			}
		}
	}
	for _, size := range []int{16, 64, 100, 1000, 1 << 20} {
		f(log.String(), size, 1<<20, nil)
		f("garbage\n# a\nb\n", size, 1<<20, nil)
	}
	f("", 64, 100, []string{})
	f("# a\n# b\n", 64, 100, []string{"# a\n# b\n"})
	f(strings.Repeat("no entry\n", 5), 16, 64, []string{
		"no entry\n", "no entry\n", "no entry\n",
		"no entry\n", "no entry\n",
	})
	f("# a\n# "+strings.Repeat("long\n", 50)+"# b\n", 16, 64, []string{"# a\n", "# b\n"})
}

func TestPiecesTooLong(t *testing.T) {
	long := "# " + strings.Repeat("long\n", 50)
	f := func(log string, offset, length int64) {
		t.Helper()
		p := newPieces(strings.NewReader(log), marked, 16, 64, &buffers{size: 16})
		for {
			if _, ok := p.next(); !ok {
				break
			}
		}
		if len(p.skipped) != 1 || p.skipped[0].Offset != offset || p.skipped[0].Length != length {
			t.Fatalf("skipped %+v, want %d bytes at %d", p.skipped, length, offset)
		}
	}
	f("# a\n"+long+"# b\n", 4, int64(len(long)))
	f("# a\n"+long, 4, int64(len(long)))
	f(long+"# b\n", 0, int64(len(long)))
}

func TestPiecesTorn(t *testing.T) {
	broken := errors.New("broken")
	log := "# a\n# b\nc"
	p := newPieces(io.MultiReader(strings.NewReader(log), iotest.ErrReader(broken)), marked, 64,
		100, &buffers{size: 64})
	x, ok := p.next()
	if !ok || string(x.data) != "# a\n" {
		t.Fatalf("got %q, want the one whole entry", x.data)
	}
	if x, ok := p.next(); ok {
		t.Fatalf("got %q after the error", x.data)
	}
	if len(p.skipped) != 1 || p.skipped[0].Offset != 4 || p.skipped[0].Length != 5 ||
		!strings.Contains(p.skipped[0].Reason, "broken") {
		t.Fatalf("skipped %+v, want 5 bytes at 4", p.skipped)
	}
}

// grows is a file that is being written.
type grows struct{ data []byte }

func (g *grows) Read(p []byte) (int, error) {
	if len(g.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, g.data)
	g.data = g.data[n:]
	return n, nil
}

func TestPiecesOpen(t *testing.T) {
	g := &grows{}
	p := newPieces(g, marked, 16, 1<<10, &buffers{size: 16})
	p.open = true
	f := func(write string, want ...string) {
		t.Helper()
		g.data = append(g.data, write...)
		var got []string
		for {
			x, ok := p.next()
			if !ok {
				break
			}
			got = append(got, string(x.data))
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("after %q: got %q, want %q", write, got, want)
		}
	}
	f("")
	f("# a")
	f("bc\nd")
	f("\n# n", "# abc\nd\n")
	f("ext\n" + strings.Repeat("y", 100))
	f("\n#")
	f(" z\n", "# next\n"+strings.Repeat("y", 100)+"\n")
	if x, ok := p.rest(); !ok || string(x.data) != "# z\n" {
		t.Fatalf("the rest is %q", x.data)
	}
	if _, ok := p.rest(); ok {
		t.Fatal("there is a rest after the rest")
	}
	f("# q\n")
	f("# r\n", "# q\n")
}

func TestBuffersForgetLargeOnes(t *testing.T) {
	b := &buffers{size: 8}
	b.put(b.get(8))
	b.put(b.get(100))
	if len(b.free) != 1 || cap(b.free[0]) != 8 {
		t.Fatalf("kept %d buffers", len(b.free))
	}
}

package logdigest

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dyno-perf/dyno/internal/attribute"
)

// TestRowsComeBack writes rows of layouts of any length into one list and reads them back.
func TestRowsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	a := New(Config{})
	a.base = 1_700_000_000_000_000
	for n := range 200 {
		l := layout{}
		for i := range n {
			s := a.headers.slotOf(attribute.Info{Key: word(i), Unit: attribute.Count})
			l.slots = append(l.slots, s)
			l.places = append(l.places, place{})
		}
		if n > 0 && n%3 == 0 {
			l.slots[n/2] = a.headers.slotOf(attribute.Info{Key: queryTime, Unit: attribute.Seconds})
		}
		a.headers.addLayout(l)
	}
	var list []byte
	var want []row
	for range 3000 {
		x := row{n: 1, origin: r.Uint32N(1 << 16), layout: r.IntN(200)}
		l := a.headers.layout(x.layout)
		if r.IntN(5) > 0 {
			x.at = a.base + r.Int64N(1e13) - 5e12
		}
		if r.IntN(5) == 0 {
			x.n, x.errno, x.killed = 1+r.Uint64N(1e5), r.Uint32N(9000), r.Uint32N(3)
		}
		for i := range l.places {
			if r.IntN(3) == 0 {
				v := 1 + r.Uint64()>>(16+r.IntN(48))
				x.cells = append(x.cells, cell{uint32(i), v})
				if i == l.time {
					x.time = v
				}
			}
		}
		x.hasTime = l.time >= 0
		a.packer.pack(&x, a.base, len(l.places))
		list = append(list, a.packer.row()...)
		want = append(want, x)
	}
	var got row
	for i, x := range want {
		list = a.next(list, &got)
		if len(got.cells) == 0 {
			got.cells = nil
		}
		got.odd = nil
		if diff := cmp.Diff(x, got, cmp.AllowUnexported(row{}, cell{})); diff != "" {
			t.Fatalf("row %d:\n%s", i, diff)
		}
	}
	if len(list) > 0 {
		t.Errorf("%d bytes are left", len(list))
	}
}

func TestTimesToTheNanosecond(t *testing.T) {
	f := func(seconds float64, want uint64) {
		t.Helper()
		a := New(Config{})
		e := timed("select 1", 0, seconds, 0)
		var r row
		r.read(a.headers.layout(a.headers.layoutOf(nil, e.Figures)), e.Figures)
		if r.time != want || !r.hasTime {
			t.Errorf("%v s are %d ns, want %d", seconds, r.time, want)
		}
	}
	f(0, 0)
	f(0.000001, 1000)
	f(0.1, 100_000_000)
	f(1.123456789, 1_123_456_789)
	f(0.29, 290_000_000)
	f(86400.000001, 86_400_000_001_000)
	f(1e-10, 0)
	f(1e12, 1<<63) // odd, and the slowest
}

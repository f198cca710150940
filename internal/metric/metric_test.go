package metric

import (
	"encoding/json"
	"testing"
)

func points(kv ...float64) (ps []Point) {
	for i := 0; i < len(kv); i += 2 {
		ps = append(ps, Point{int64(kv[i] * 1000), kv[i+1]})
	}
	return ps
}

func TestRateCountsARestartFromZero(t *testing.T) {
	f := func(ps []Point, want float64, wantOK bool) {
		t.Helper()
		got, ok := Series{Points: ps}.Rate()
		if got != want || ok != wantOK {
			t.Fatalf("got %v %v, want %v %v", got, ok, want, wantOK)
		}
	}
	f(nil, 0, false)
	f(points(1, 5), 0, false)
	f(points(1, 5, 3, 25), 10, true)
	f(points(1, 100, 2, 110, 3, 4), 7, true) // +10, then a restart that already counted 4
	f(points(1, 5, 1, 25), 0, false)         // no time passed
}

func TestWindowIsInclusive(t *testing.T) {
	s := Series{Points: points(1, 1, 2, 2, 3, 3, 4, 4)}
	f := func(from, to int64, want int) {
		t.Helper()
		if got := len(s.Window(from, to).Points); got != want {
			t.Fatalf("[%d, %d]: got %d points, want %d", from, to, got, want)
		}
	}
	f(2000, 3000, 2)
	f(0, 9000, 4)
	f(1001, 1999, 0)
	f(3000, 1000, 0)
}

func TestRatesSkipTheRestart(t *testing.T) {
	r := Series{Kind: Counter, Points: points(1, 10, 2, 30, 3, 5, 4, 6)}.Rates()
	if r.Kind != Gauge || len(r.Points) != 2 || r.Points[0] != (Point{2000, 20}) || r.Points[1] != (Point{4000, 1}) {
		t.Fatalf("got %+v", r)
	}
}

func TestKindRoundTrip(t *testing.T) {
	b, err := json.Marshal(Series{Name: "a", Kind: Counter, Labels: L("b", "2", "a", "1"), Points: points(1, 1)})
	const want = `{"name":"a","labels":[{"name":"a","value":"1"},{"name":"b","value":"2"}],"kind":"counter","points":[{"t":1000,"v":1}]}`
	if err != nil || string(b) != want {
		t.Fatalf("got %s (%v)", b, err)
	}
	var s Series
	if err := json.Unmarshal([]byte(`{"kind":"gouge"}`), &s); err == nil {
		t.Fatal("an unknown kind was accepted")
	}
}

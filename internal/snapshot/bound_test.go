package snapshot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// TestSnapshotHasABound: a server has as many statements and figures as it says, and tenants send as many statements as
// they like.
func TestSnapshotHasABound(t *testing.T) {
	s := &Snapshot{}
	total := 0.0
	for i := range 20_000 {
		c := class.Class{ID: fmt.Sprint(i), Fingerprint: strings.Repeat("x", 2000), TimeSec: 20_000 - float64(i)}
		total += c.TimeSec
		s.Classes = append(s.Classes, c)
	}
	for i := range 2000 {
		x := metric.Series{Name: "m", Labels: metric.L("n", fmt.Sprint(i))}
		for at := range 1001 {
			x.Points = append(x.Points, metric.Point{At: int64(at), Value: float64(at)})
		}
		s.Series = append(s.Series, x)
	}
	Bound(s, 3)
	b, err := s.Encode()
	if most := mostOfClasses + mostOfSeries; err != nil || len(b) > most*5/4 || len(b) < most/2 {
		t.Errorf("it takes %d MB: %v", len(b)>>20, err)
	}
	if n := len(s.Classes); n < 1000 || s.Classes[n-1].TimeSec <= 20_000-float64(n)-1 || s.Rest.Classes != 20_000-n ||
		s.TotalTime() != total {
		t.Errorf("%d classes are left, %+v of %g s in all", n, s.Rest, total)
	}
	for _, x := range s.Series {
		if n := len(x.Points); n < 100 || x.Points[0].At != 0 || x.Points[n-1].At != 1000 {
			t.Fatalf("%d points from %d to %d", n, x.Points[0].At, x.Points[n-1].At)
		}
	}
	if len(s.Series) != 2000 {
		t.Errorf("%d series", len(s.Series))
	}
	if x := s.Source("classes"); x.State != source.Failed || !strings.Contains(x.Reason,
		fmt.Sprintf("not observed: %d classes", s.Rest.Classes)) {
		t.Errorf("%+v", x)
	}
	if x := s.Source("series"); x.State != source.Failed || !strings.Contains(x.Reason,
		"not observed: 0 series and 3 figures") {
		t.Errorf("%+v", x)
	}
	s = &Snapshot{} // in whatever order they come
	for i := range 20_000 {
		s.Classes = append(s.Classes, class.Class{
			ID: fmt.Sprint(i), Fingerprint: strings.Repeat("x", 2000),
			TimeSec: float64(i),
		})
	}
	Bound(s, 0)
	if n := len(s.Classes); s.Classes[0].TimeSec != float64(20_000-n) || s.Classes[n-1].TimeSec != 19_999 {
		t.Errorf("%d classes are left, of %g to %g s", n, s.Classes[0].TimeSec, s.Classes[n-1].TimeSec)
	}
	s = &Snapshot{}
	for i := range 600_000 {
		s.Series = append(s.Series, metric.Series{Name: fmt.Sprint("m", i), Points: make([]metric.Point, 2)})
	}
	if Bound(s, 0); len(s.Series) > mostOfSeries/(2*pointBytes) || s.Source("series").State != source.Failed {
		t.Errorf("%d series are left: %+v", len(s.Series), s.Source("series"))
	}
	s = &Snapshot{Classes: make([]class.Class, 10), Series: make([]metric.Series, 10)}
	if Bound(s, 0); len(s.Classes) != 10 || len(s.Series) != 10 || len(s.Sources) != 0 {
		t.Errorf("what is small was changed: %+v", s)
	}
}

func TestLean(t *testing.T) {
	points := func(values ...float64) (ps []metric.Point) {
		for i, v := range values {
			ps = append(ps, metric.Point{At: int64(i), Value: v})
		}
		return ps
	}
	got := Lean([]metric.Series{
		{Name: "still", Points: points(4, 4, 4, 4)},
		{Name: "moves", Points: points(1, 2, 3)},
		{Name: "none"},
		{Name: "dyno_source_late_seconds", Points: points(1)},
		{Name: "once", Points: points(1)},
	})
	if len(got) != 3 || len(got[0].Points) != 2 || got[0].Points[1].At != 3 || len(got[1].Points) != 3 {
		t.Errorf("%+v", got)
	}
}

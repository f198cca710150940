package series

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/value"

	"github.com/dyno-perf/dyno/internal/metric"
)

func TestEachGivesWhatWasPutIn(t *testing.T) {
	w, exp := newWorld(5), newFull()
	s := mustOpen(t, t.TempDir())
	for i := range int64(450) {
		r := w.read("a", t0+i*1000)
		exp.add(r)
		if err := s.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
	lo, hi := t0+100_000, t0+400_000
	got, stale := map[string][]point{}, 0
	err := s.Each(t.Context(), lo, hi, func(x metric.Series) error {
		ls, err := join(&metric.Sample{Name: x.Name, Labels: x.Labels, Kind: x.Kind}, nil, "")
		if err != nil {
			return err
		}
		for _, p := range x.Points {
			got[ls.String()] = append(got[ls.String()], point{p.At, math.Float64bits(p.Value)})
			if value.IsStaleNaN(p.Value) {
				stale++
			}
		}
		return nil
	})
	if err != nil || stale == 0 {
		t.Fatal(stale, err)
	}
	if d := cmp.Diff(exp.within(lo, hi), got, cmp.AllowUnexported(point{})); d != "" {
		t.Error(d)
	}
	mine, n := errors.New("mine"), 0
	if err := s.Each(t.Context(), lo, hi, func(metric.Series) error { n++; return mine }); !errors.Is(err, mine) ||
		n != 1 {
		t.Errorf("%v after %d", err, n)
	}
}

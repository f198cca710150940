package metric

import (
	"math"
	"testing"
)

func TestBufferKeepsSeriesApartAndInOrder(t *testing.T) {
	var b Buffer
	b.Add(
		Sample{Name: "b", At: 1, Value: 1},
		Sample{Name: "a", Labels: L("x", "2"), At: 1, Value: 2},
		Sample{Name: "a", Labels: L("x", "1"), At: 1, Value: 3},
	)
	b.Add(Sample{Name: "b", At: 2, Value: 4}, Sample{Name: "b", At: 2, Value: 5}, Sample{Name: "b", At: 1, Value: 6})
	all := b.Series(0, 9)
	if len(all) != 3 || all[0].Labels.Get("x") != "1" || all[1].Labels.Get("x") != "2" || all[2].Name != "b" {
		t.Fatalf("got %+v", all)
	}
	if p := all[2].Points; len(p) != 2 || p[1] != (Point{2, 4}) {
		t.Fatalf("a second value of one moment or an older one was kept: %v", p)
	}
	all[2].Points[0].Value = 99
	if s, ok := b.Find("b", nil, 1, 1); !ok || len(s.Points) != 1 || s.Points[0].Value != 1 {
		t.Fatalf("got %v %v: the buffer gave away its own points", s, ok)
	}
	if len(b.Series(5, 9)) != 0 {
		t.Fatal("a series without a point in the window was returned")
	}
}

func TestBufferTakesFiguresOnly(t *testing.T) {
	var b Buffer
	b.Add(Sample{Name: "a", At: 1, Value: math.NaN()}, Sample{Name: "a", At: 2, Value: math.Inf(1)}, Sample{Name: "a", At: 3, Value: 4})
	if s, ok := b.Find("a", nil, 0, 10); !ok || len(s.Points) != 1 || s.Points[0].Value != 4 {
		t.Errorf("%+v", s)
	}
}

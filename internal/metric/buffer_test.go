package metric

import (
	"fmt"
	"math"
	"strings"
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
	b.Add(Sample{Name: "a", At: 1, Value: math.NaN()}, Sample{Name: "a", At: 2, Value: math.Inf(1)},
		Sample{Name: "a", At: 3, Value: 4})
	if s, ok := b.Find("a", nil, 0, 10); !ok || len(s.Points) != 1 || s.Points[0].Value != 4 {
		t.Errorf("%+v", s)
	}
}

// TestBufferHasABound: a server invents as many names as it likes.
func TestBufferHasABound(t *testing.T) {
	var b Buffer
	long := strings.Repeat("x", longestText)
	n := 2 * mostBytes / (2 * longestText)
	for i := range n {
		b.Add(Sample{Name: "m", Labels: L("n", fmt.Sprint(long, i)), At: 1})
	}
	sum := 0
	for _, x := range b.Series(0, 1) {
		sum += len(x.Labels.Get("n"))
	}
	if sum > mostBytes/2 || sum < mostBytes/3 || b.Lost() < n/3 {
		t.Errorf("%d MB of labels are kept, and %d of %d samples are lost", sum>>20, b.Lost(), n)
	}
	b = Buffer{}
	for at := range mostBytes/pointBytes + 1000 {
		b.Add(Sample{Name: "m", At: int64(at)})
	}
	if b.Lost() == 0 {
		t.Error("one series may grow for ever")
	}
}

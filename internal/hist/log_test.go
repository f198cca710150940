package hist

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// TestLogIsReadBack reads with the library's own reader what Log writes.
func TestLogIsReadBack(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 250e6, time.UTC)
	var b bytes.Buffer
	l, err := NewLog(&b, start)
	if err != nil {
		t.Fatal(err)
	}
	one, two := New(), New()
	for i := range 1000 {
		one.Record(time.Duration(i) * ms)
	}
	two.Record(5 * ms)
	two.Record(2 * Highest)
	if err := errors.Join(l.Interval("new order, mine", start.Add(time.Second), 1500*ms, one),
		l.Interval("", start.Add(2500*ms), time.Second, two)); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"#[Histogram log format version 1.3]\n", "#[StartTime: 1772366400.250 (seconds " +
			"since epoch), 2026-03-01T12:00:00Z]\n", "\nTag=new_order__mine,1.000,1.500,999.000,HISTFAAA",
		"\n2.500,1.000,7200000.000,HISTFAAA",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	r := hdr.NewHistogramLogReader(&b)
	h, err := r.NextIntervalHistogram()
	if err != nil || h == nil {
		t.Fatal(h, err)
	}
	if h.Tag() != "new_order__mine" || h.TotalCount() != 1000 || h.StartTimeMs() != start.UnixMilli()+1000 ||
		h.EndTimeMs() != start.UnixMilli()+2500 {
		t.Errorf("read back: tag %s, count %d, %d to %d", h.Tag(), h.TotalCount(), h.StartTimeMs(), h.EndTimeMs())
	}
	if got, want := time.Duration(h.ValueAtQuantile(99)), one.Quantile(0.99); got != want {
		t.Errorf("p99 %v, want %v", got, want)
	}
	h, err = r.NextIntervalHistogram()
	if err != nil || h == nil || h.TotalCount() != 2 || h.Max() < int64(Highest) {
		t.Fatalf("the second one: %+v, %v", h, err)
	}
	if two.Count() != 2 || two.Over() != 1 || two.h.TotalCount() != 1 {
		t.Error("writing changed the histogram")
	}
	if h, err = r.NextIntervalHistogram(); h != nil || err != nil {
		t.Errorf("more than was written: %+v, %v", h, err)
	}
}

type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(b), nil
}

func TestLogTellsOfAFullDisk(t *testing.T) {
	if _, err := NewLog(&full{10}, time.Now()); err == nil {
		t.Error("the head was lost in silence")
	}
	l, err := NewLog(&full{400}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := l.Interval("", time.Now(), time.Second, New()); err != nil {
			return
		}
	}
	t.Error("lines were lost in silence")
}

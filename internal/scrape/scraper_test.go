package scrape

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
)

func parts(r reading.Reading) ([]metric.Sample, []source.Source) { return r.Samples, r.Sources }

func find(samples []metric.Sample, name string, labels ...string) (metric.Sample, bool) {
next:
	for _, x := range samples {
		if x.Name != name {
			continue
		}
		for i := 0; i < len(labels); i += 2 {
			if x.Labels.Get(labels[i]) != labels[i+1] {
				continue next
			}
		}
		return x, true
	}
	return metric.Sample{}, false
}

// idle is a link that nobody asks on.
type idle struct{}

func (idle) Used() Usage                 { return Usage{} }
func (idle) Retry()                      {}
func (idle) Ping(context.Context)        {}
func (idle) Hold() func()                { return func() {} }
func (idle) Work() func(context.Context) { return func(context.Context) {} }
func (idle) Close()                      {}
func (idle) Read(_ context.Context, release func()) func(context.Context) {
	release()
	return func(context.Context) {}
}

// reads makes the turn of a source.
func reads(src Source, tr Traits, l Link) *turn { return newTurn(src, tr, l, plainErrors{}) }

type stub struct {
	name string
	do   func(ctx context.Context, emit func(metric.Sample)) error
}

func (s *stub) Name() source.Name { return source.Name(s.name) }
func (s *stub) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	return s.do(ctx, emit)
}

func TestSlowSourceIsSlowAndBacksOff(t *testing.T) {
	slow, quick := 0, 0
	s := &Scraper{errs: plainErrors{}, link: idle{}, meter: NewMeter(), timeout: 20 * time.Millisecond, states: []*turn{
		reads(&stub{"slow", func(ctx context.Context, emit func(metric.Sample)) error {
			slow++
			emit(metric.Sample{Name: "half"})
			<-ctx.Done()
			return ctx.Err()
		}}, Traits{}, nil),
		reads(&stub{"quick", func(_ context.Context, emit func(metric.Sample)) error {
			quick++
			emit(metric.Sample{Name: "whole"})
			return nil
		}}, Traits{}, nil),
	}}
	for i := range 8 {
		samples, sources := parts(s.round(t.Context(), pass{
			at:    time.Unix(int64(1000+i), 0),
			every: time.Second, budget: time.Minute,
		}))
		if _, ok := find(samples, "half"); ok {
			t.Fatal("half of a source was kept")
		}
		if _, ok := find(samples, "whole"); !ok {
			t.Fatal("a slow source cost a quick one its turn")
		}
		if sources[0].State != source.Slow || !strings.Contains(sources[0].Reason, "20ms") ||
			sources[1].State != source.OK {
			t.Fatalf("%+v", sources)
		}
	}
	if slow != 3 || quick != 8 { // in the rounds 0, 2 and 6
		t.Fatalf("slow source was read %d times, quick one %d times", slow, quick)
	}
}

func TestPartialKeepsTheRest(t *testing.T) {
	s := &Scraper{errs: plainErrors{}, link: idle{}, meter: NewMeter(), timeout: time.Second, states: []*turn{
		reads(&stub{"process", func(_ context.Context, emit func(metric.Sample)) error {
			emit(metric.Sample{Name: "rest"})
			return &Problem{
				State: source.Denied, Reason: "io is hidden", Fix: "run as root",
				Partial: true, Err: errors.New("x"),
			}
		}}, Traits{}, nil),
	}}
	for i := range 3 {
		samples, sources := parts(s.round(t.Context(), pass{
			at:    time.Unix(int64(1000+i), 0),
			every: time.Second, budget: time.Minute,
		}))
		if _, ok := find(samples, "rest"); !ok || sources[0].State != source.Denied || sources[0].Reads != i+1 {
			t.Fatalf("%+v %+v", samples, sources)
		}
	}
}

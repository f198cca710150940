package demo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/app"
)

func TestJobs(t *testing.T) {
	f := func(o AllOptions, want string) {
		t.Helper()
		jobs, err := o.jobs()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, j := range jobs {
			got = append(got, j.key())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("got %s\nwant %s", s, want)
		}
	}
	only := []string{"missing-index", "query-cache", "missing-index+query-cache"}
	f(AllOptions{Only: only}, "missing-index|mariadb|1 query-cache|mariadb|1 missing-index+query-cache|mariadb|1")
	f(AllOptions{Only: only, Servers: []string{"mysql@9.7"}, First: 5, Seeds: 2},
		"missing-index|mysql@9.7|5 missing-index|mysql@9.7|6")
	done := []AccuracyLine{{Fault: "missing-index", Asked: "mariadb", Seed: 1}, {
		Fault: "query-cache", Asked: "mariadb",
		Seed: 1, Error: "the disk was full",
	}}
	f(AllOptions{Only: only[:2], Done: done}, "query-cache|mariadb|1")
	jobs, err := AllOptions{Pairs: true}.jobs()
	if err != nil {
		t.Fatal(err)
	}
	pairs := slices.DeleteFunc(jobs, func(l AccuracyLine) bool { return !strings.Contains(l.Fault, "+") })
	if len(pairs) == 0 || len(pairs) > len(app.FaultPairs()) {
		t.Errorf("%d pairs", len(pairs))
	}
	if _, err := (AllOptions{Only: []string{"missing-index+nothing"}}).jobs(); err == nil {
		t.Error("an unknown fault is taken")
	}
}

func TestLineIsAsItShouldBe(t *testing.T) {
	f := func(l AccuracyLine, want bool) {
		t.Helper()
		if l.OK() != want {
			t.Errorf("%+v: %v", l, !want)
		}
	}
	f(AccuracyLine{Found: true}, true)
	f(AccuracyLine{}, false)
	f(AccuracyLine{Found: true, Error: "x"}, false)
	f(AccuracyLine{Found: true, Foreign: []ForeignLine{{}}}, false)
	f(AccuracyLine{Found: true, Gain: &GainLine{Lo: 1.2}}, true)
	f(AccuracyLine{Found: true, Gain: &GainLine{Lo: 0.9, Center: 2}}, false)
}

// TestDemoAllGoesOn has a server that is not there: each line says so, the next fault is tried, and the end of the
// context ends it all.
func TestDemoAllGoesOn(t *testing.T) {
	a := &app.App{Home: t.TempDir(), Environ: func(string) string { return "" }}
	defer a.Close()
	o := AllOptions{Servers: []string{"mariadb@1.0"}, Only: []string{"missing-index", "healthy-idle"}}
	var lines []AccuracyLine
	err := All(t.Context(), a, o, func(l AccuracyLine) error { lines = append(lines, l); return nil })
	if err != nil || len(lines) != 2 || lines[0].Error == "" || lines[1].Found || lines[1].Foreign == nil {
		t.Errorf("%v, %+v", err, lines)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err = All(ctx, a, o, func(AccuracyLine) error { n++; cancel(); return nil })
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d lines, %v", n, err)
	}
}

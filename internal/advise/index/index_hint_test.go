package index

import (
	"testing"

	"github.com/dyno-perf/dyno/test/snap"
)

func TestIndexHint(t *testing.T) {
	const q = "SELECT remark FROM things FORCE INDEX (PRIMARY) WHERE a = 5"
	read := func(indexes ...string) *snap.Made {
		return things(snap.Build(), indexes...).Exact(q, 100, 0.09, 300_000, 30).Plan(snap.All("things", 300_000))
	}
	// There is an index, and the hint forbids it.
	f := finds(t, read("by_a: a"), "index-hint")
	says(t, f.Cause, "FORCE INDEX (PRIMARY)", "by_a serves its conditions")
	says(t, f.Suggestion, "Leave the hint out", "name by_a in it")
	if f.Action != nil {
		t.Errorf("%+v", f.Action)
	}
	// There is none: one that is added would not be used.
	f = finds(t, read(), "index-hint")
	says(t, f.Suggestion, "Leave the hint out", "(`a`): while the hint is there the server does not use it")
	if f.Action != nil {
		t.Errorf("%+v", f.Action)
	}
	// It is not taken together with a class that has no hint.
	finds(t, read().Exact("SELECT remark FROM things WHERE a = 5", 100, 0.09, 300_000, 30).
		Plan(snap.All("things", 300_000)), "index-hint", "missing-index (a)")
}

func TestIndexHintSilent(t *testing.T) {
	// The index that the hint names serves the conditions, and many rows are wanted.
	finds(t, things(snap.Build(), "by_a: a").Exact("SELECT remark FROM things USE INDEX (by_a) WHERE a = 5", 100, 0.09,
		150_000, 150_000).Plan(by("ref", "by_a", 150_000)))
	// A scan is right for what is wanted, whatever the hint keeps the server from.
	finds(t, things(snap.Build(), "by_a: a").Exact("SELECT SUM(c) FROM things USE INDEX (PRIMARY) WHERE a = 5", 100,
		0.09, 300_000, 1).Plan(snap.All("things", 300_000)))
	// A hint that forbids an index leaves the others.
	f := finds(t, things(snap.Build()).Exact("SELECT remark FROM things IGNORE INDEX (by_b) WHERE a = 5", 100, 0.09,
		300_000, 30).Plan(snap.All("things", 300_000)), "missing-index (a)")
	if f.Action == nil {
		t.Error("no action")
	}
}

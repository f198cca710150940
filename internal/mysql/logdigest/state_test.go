package logdigest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// TestStateGoesOn stops at many places and goes on from what was written: nothing is lost and nothing counted twice.
func TestStateGoesOn(t *testing.T) {
	entries := input(31, 6000)
	entries[100].Figures[0].Value = -0.5 // something odd
	add := func(a *Aggregator, from, to int) {
		for i := range entries[from:to] {
			a.Add(nil, &entries[from+i], 0)
			if (from+i)%1000 == 0 {
				a.Skip(0, slowlog.Skip{Offset: int64(from + i), Length: 7, Reason: "text between entries"})
			}
		}
	}
	whole := New(Config{})
	add(whole, 0, len(entries))
	want := asJSON(t, whole.Report(digest.Options{}))
	a := New(Config{})
	for from := 0; from < len(entries); {
		to := min(len(entries), from+1+from/2)
		add(a, from, to)
		state := a.AppendState(nil)
		b, err := ReadState(Config{}, state)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(asJSON(t, a.Report(digest.Options{})), asJSON(t, b.Report(digest.Options{}))); diff != "" {
			t.Fatalf("after %d entries:\n%s", to, diff)
		}
		a, from = b, to
	}
	if diff := cmp.Diff(want, asJSON(t, a.Report(digest.Options{}))); diff != "" {
		t.Error(diff)
	}
}

func TestStateIsRefused(t *testing.T) {
	state := aggregate(Config{}, input(32, 300)).AppendState([]byte("before"))
	f := func(c Config, p []byte, want error) {
		t.Helper()
		if _, err := ReadState(c, p); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	state = bytes.TrimPrefix(state, []byte("before"))
	f(Config{}, state, nil)
	f(Config{GroupBy: digest.ByUser}, state, ErrStateConfig)
	f(Config{Redact: true}, state, ErrStateConfig)
	f(Config{}, nil, ErrStateVersion)
	f(Config{}, []byte("something else"), ErrStateVersion)
	for i := len(stateMark); i < len(state); i += 97 {
		f(Config{}, state[:i], ErrStateDamaged)
		bent := bytes.Clone(state)
		bent[i] ^= 4
		f(Config{}, bent, ErrStateDamaged)
	}
}

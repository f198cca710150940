package screen

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/state"
)

func TestSpark(t *testing.T) {
	g := graph{"x", []string{"x"}, perSecond}
	vital := func(v float64) []state.Vital { return []state.Vital{{Name: "x", Value: v}} }
	// seconds before the end are negative
	at := func(sec int) time.Time { return noon.Add(time.Duration(sec) * time.Second) }
	f := func(n int, want string, es []event.Event, ms ...moment) {
		t.Helper()
		got := ""
		for _, s := range spark(g, ms, es, noon, n) {
			got += s.text
		}
		if got != want || cells(got) != n {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(4, "    ", nil)
	f(4, "   ▁", nil, moment{at(0), vital(0)})
	f(4, "▂▃ █", nil, moment{at(-100), vital(1)}, moment{at(-61), vital(3)}, moment{at(-10), vital(4)},
		moment{at(-9), vital(16)})
	f(4, "   █", nil, moment{at(-5), nil}, moment{at(-4), vital(math.NaN())}, moment{at(-3), vital(9)})
	f(4, "█   ", nil, moment{at(-120), vital(99)}, moment{at(-119), vital(9)}, moment{at(1), vital(99)})
	f(4, "█ ╎ ", []event.Event{{At: at(-45)}, {At: at(5)}, {At: at(-500)}}, moment{at(-119), vital(9)})
	f(240, strings.Repeat(" ", 180)+"█████"+strings.Repeat(" ", 55), nil,
		moment{at(-30).Add(500 * time.Millisecond), vital(1)})
}

func TestGraphsFallBackToWhatIsKnown(t *testing.T) {
	s := &state.State{Vitals: []state.Vital{
		{Name: state.TPS, Value: 5},
		{Name: state.DiskReadBytes, Value: 1},
		{Name: state.RedoBytes, Value: 2},
	}}
	f := func(i int, want string) {
		t.Helper()
		if got := choose(graphs[i], []moment{{noon, s.Vitals}}).label; got != want {
			t.Errorf("place %d: %s, want %s", i, got, want)
		}
	}
	f(0, "commits")
	f(1, "mean time") // nothing known: the first, shown as such
	f(3, "redo")      // half a sum is no sum
	if got := sparks(s, &trail{}, 80)[0].String(); !strings.Contains(got, "mean time            –") {
		t.Errorf("got %q", got)
	}
	for _, w := range []int{40, 79, 80, 100, 149, 150, 300} {
		for _, l := range sparks(s, &trail{}, w) {
			if l.cells() > w {
				t.Errorf("%d cells in %d", l.cells(), w)
			}
		}
	}
}

func TestHeadlineOfAServerThatIsSlowToAnswer(t *testing.T) {
	s := &state.State{Target: "shop", Reason: "no answer within 466ms", Slow: true}
	if got := headline(s, "shop", nil, 80).String(); !strings.Contains(got, "NO ANSWER YET") ||
		strings.Contains(got, "DOWN") {
		t.Errorf("%q", got)
	}
	s.Slow = false
	if got := headline(s, "shop", nil, 80).String(); !strings.Contains(got, "DOWN no answer") {
		t.Errorf("%q", got)
	}
}

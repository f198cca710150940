package screen

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

var update = flag.Bool("update", false, "write the golden texts anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name + ".txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// screenOf is the screen after a hundred calm seconds and a pile-up.
func screenOf(t testing.TB, width, height int, last *state.State) *model {
	t.Helper()
	m := newModel(t.Context(), &kept{}, Options{
		Location: time.UTC, Target: "shop-db1", Status: "InnoDB status", Env: []string{"NO_COLOR=1"},
	},
		noon)
	m.width, m.height = width, height
	for i := range 100 {
		s := calm(noon.Add(time.Duration(i-100) * time.Second))
		s.Vitals[0].Value = float64(1000 + i*i)
		m.Update(updateMsg{Update{State: s}, s.At})
	}
	m.Update(updateMsg{Update{State: last, Events: []event.Event{{
		At: noon.Add(-30 * time.Second), Kind: event.Config,
		Text: "max_connections 151 → 200",
	}}}, noon})
	return m
}

func TestViews(t *testing.T) {
	long := pileUp(noon)
	long.EngineStatus = "=====\nSEMAPHORES\n\t\x1b[2Jwicked\n"
	down := &state.State{
		Target: "shop-db1", At: noon, Server: "mariadb 10.11.19",
		Reason:  "dial tcp 10.0.0.1:3306: connection refused",
		Sources: []source.Source{{Name: "global_status", State: source.Failed, Reason: "no connection"}},
	}
	f := func(name string, width, height int, s *state.State, keys ...string) {
		t.Helper()
		m := screenOf(t, width, height, s)
		press(m, keys...)
		got := textOf(m)
		for l := range strings.SplitSeq(strings.TrimSuffix(got, "\n"), "\n") {
			if cells(l) > width {
				t.Errorf("%s: %d cells in %q", name, cells(l), l)
			}
		}
		if n := strings.Count(got, "\n"); n != height {
			t.Errorf("%s: %d lines on a screen of %d", name, n, height)
		}
		golden(t, name, got)
	}
	f("overview80", 80, 24, pileUp(noon))
	f("overview100", 100, 34, pileUp(noon))
	f("overview160", 160, 40, pileUp(noon))
	f("overview_calm", 80, 24, calm(noon))
	f("tiny", 30, 8, pileUp(noon))
	f("sessions100", 100, 24, pileUp(noon), "2")
	f("locks80", 80, 24, pileUp(noon), "3")
	f("classes100", 100, 24, pileUp(noon), "4", "s")
	f("server100", 100, 50, long, "5")
	f("sources80", 80, 24, pileUp(noon), "6")
	f("down80", 80, 24, down)
	f("help80", 80, 24, pileUp(noon), "?")
	f("session_details80", 80, 40, pileUp(noon), "3", "down", "enter")
	f("class_details80", 80, 24, pileUp(noon), "4", "enter")
	f("blocker_details80", 80, 24, pileUp(noon), "3", "down", "down", "down", "enter")
	f("source_details80", 80, 24, pileUp(noon), "6", "enter")
	f("filter80", 80, 24, pileUp(noon), "/", "r", "e", "p", "o", "r", "t", "enter")
	f("filter_typing80", 80, 24, pileUp(noon), "2", "/", "b", "a", "t")
	f("paused80", 80, 24, pileUp(noon), "p")
}

func TestNothingIsKnownYet(t *testing.T) {
	m := newModel(t.Context(), &kept{}, Options{Location: time.UTC, Target: "shop\x1b-db1"}, noon)
	golden(t, "waiting80", textOf(m))
	for _, k := range []string{
		"1", "2", "3", "4", "5", "6", "enter", "e", "s", "left", "right", "up", "down", "pgup",
		"p", "l", "?", "esc", "[", "]",
	} {
		press(m, k) // nothing to act on: nothing may break
		textOf(m)
	}
}

// TestAnySizeAndKey draws screens of any size, with states that lack everything.
func TestAnySizeAndKey(t *testing.T) {
	states := []*state.State{
		pileUp(noon), calm(noon),
		{Up: true, At: noon},
		{At: noon},
		{Up: true, At: noon, Waits: []state.Wait{{Waiter: 1}, {Waiter: 1, Kind: state.RowLock}}},
	}
	keys := []string{"down", "enter", "end", "esc", "tab", "s", "?", "q", "left"}
	for _, w := range []int{1, 39, 100} {
		for _, h := range []int{0, 5, 13, 24} {
			m := screenOf(t, w, h, states[0])
			for _, s := range states {
				m.mode, m.shown = live, s
				for range int(views) {
					for _, k := range keys {
						press(m, k)
						if got := len(headerOf(m)); got != m.headHeight() {
							t.Fatalf("%d×%d: a header of %d lines, not %d", w, h, got, m.headHeight())
						}
						for l := range strings.SplitSeq(textOf(m), "\n") {
							if cells(l) > max(w, 0) {
								t.Fatalf("%d×%d after %s: %q", w, h, k, l)
							}
						}
					}
				}
			}
		}
	}
}

func TestPlain(t *testing.T) {
	f := func(name string, s *state.State, width int) {
		t.Helper()
		var b bytes.Buffer
		if err := PlainIn(&b, s, width, time.UTC); err != nil {
			t.Fatal(err)
		}
		for l := range strings.SplitSeq(b.String(), "\n") {
			if cells(l) > max(width, 40) {
				t.Errorf("%s: %q", name, l)
			}
		}
		if strings.ContainsAny(b.String(), "\x1b\x00") {
			t.Errorf("%s: control characters in %q", name, b.String())
		}
		golden(t, name, b.String())
	}
	f("plain80", pileUp(noon), 80)
	f("plain160", pileUp(noon), 160)
	f("plain_down", &state.State{Target: "shop-db1", At: noon, Reason: "connection refused"}, 80)
	f("plain_nothing", &state.State{Target: "shop-db1", At: noon, Up: true}, 10)
}

// TestIdleBlocker: what a blocker ran last is shown where the server reports it apart from the running statement.
func TestIdleBlocker(t *testing.T) {
	s := pileUp(noon)
	s.Sessions[4].SQL, s.Sessions[4].Last = "", "UPDATE orders SET total = 0"
	var b bytes.Buffer
	if err := PlainIn(&b, s, 80, time.UTC); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "last statement: UPDATE orders SET total = 0") {
		t.Errorf("the blocker's last statement is not in\n%s", b.String())
	}
}

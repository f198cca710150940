package config

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/snap"
)

// told asks a rule and returns its only finding, or nothing when it keeps silent. It fails on findings that lack what a
// reader needs.
func told(t *testing.T, rule func(*advise.View) []finding.Finding, m *snap.Made) (finding.Finding, bool) {
	t.Helper()
	got := rule(m.View())
	if len(got) == 0 {
		return finding.Finding{}, false
	}
	if len(got) > 1 {
		t.Fatalf("%d findings", len(got))
	}
	f := got[0]
	if f.ID == "" || f.Title == "" || f.Cause == "" || len(f.Evidence) == 0 || f.Falsify == "" || f.Suggestion == "" ||
		f.Cost == "" || len(f.Why) == 0 || f.Share > 1 || (f.Share <= 0) != strings.HasPrefix(f.Rule, "replica-") {
		// a replica's statements are not what waits
		t.Errorf("incomplete: %+v", f)
	}
	if f.Gain != nil && (f.Gain.Lo <= 0 || f.Gain.Hi < f.Gain.Lo || f.Gain.Text == "") {
		t.Errorf("gain: %+v", *f.Gain)
	}
	for _, e := range f.Evidence {
		if e.Source == "" || e.Text == "" {
			t.Errorf("evidence: %+v", e)
		}
	}
	all := f.Title + f.Cause + f.Suggestion + f.Cost
	for _, e := range f.Evidence {
		all += e.Text
	}
	for _, bad := range []string{"%!", "NaN", "Inf"} {
		if strings.Contains(all, bad) {
			t.Errorf("%s in %q", bad, all)
		}
	}
	return f, true
}

// quiet fails when the rule finds something.
func quiet(t *testing.T, rule func(*advise.View) []finding.Finding, m *snap.Made) {
	t.Helper()
	if f, ok := told(t, rule, m); ok {
		t.Errorf("found: %s", f.Title)
	}
}

// cpus sets how many CPUs there are and how much of them the server uses, in place of what the built snapshot has.
func cpus(m *snap.Made, n, used float64) *snap.Made {
	m.S.Host.CPUs = known.Of(n)
	keep := m.S.Series[:0]
	for _, x := range m.S.Series {
		if x.Name != "dyno_server_cpu_seconds_total" {
			keep = append(keep, x)
		}
	}
	m.S.Series = keep
	if used >= 0 {
		m.Rate("dyno_server_cpu_seconds_total", used*0.7, "mode", "user").Rate("dyno_server_cpu_seconds_total",
			used*0.3, "mode", "system")
	}
	return m
}

// sessions adds moments in which so many statements are in each phase.
func sessions(m *snap.Made, moments int, phases map[string]int) *snap.Made {
	for range moments {
		var x state.State
		for p, n := range phases {
			for range n {
				x.Sessions = append(x.Sessions, state.Session{
					ID:      uint64(len(x.Sessions) + 1),
					Command: "Query", Phase: p,
				})
			}
		}
		m.Moment(x)
	}
	return m
}

func TestAbout(t *testing.T) {
	f := func(in float64, want string) {
		t.Helper()
		if got := about(in); got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
	f(0, "0")
	f(0.25, "0.25")
	f(2, "2")
	f(6.249, "6.25")
	f(12.34, "12.3")
	f(20, "20")
	f(1234.5, "1234")
}

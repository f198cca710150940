package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/snap"
)

// one asks a rule and wants just one finding, which says all that a finding of these rules has to say.
func one(t *testing.T, find func(*advise.View) []finding.Finding, m *snap.Made) finding.Finding {
	t.Helper()
	all := find(m.View())
	if len(all) != 1 {
		t.Fatalf("%d findings: %+v", len(all), all)
	}
	f := all[0]
	for what, missing := range map[string]bool{
		"id": !strings.HasPrefix(f.ID, f.Rule+"-"), "title": f.Title == "", "cause": f.Cause == "",
		"evidence": len(f.Evidence) == 0, "against": len(f.Against) == 0,
		"falsify": f.Falsify == "", "suggestion": f.Suggestion == "", "cost": f.Cost == "", "why": len(f.Why) == 0,
		"reference": f.Reference == "",
		"severity":  f.Severity.Rank() == 0, "confidence": f.Confidence == "", "share": f.Share < 0 || f.Share > 1,
		"file": len(f.Setting) > 0 && f.File == "",
	} {
		if missing {
			t.Errorf("%s: no %s: %+v", f.Rule, what, f)
		}
	}
	for _, e := range f.Evidence {
		if e.Text == "" || e.Source == "" {
			t.Errorf("%s: evidence without text or source: %+v", f.Rule, e)
		}
	}
	for _, text := range append([]string{f.Title, f.Cause, f.Suggestion}, f.Against...) {
		if strings.Contains(text, "%!") || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s: %q", f.Rule, text)
		}
	}
	if f.Gain != nil && (f.Gain.Lo < 1 || f.Gain.Hi < f.Gain.Lo) {
		t.Errorf("%s: gain %+v", f.Rule, f.Gain)
	}
	return f
}

// silent asks a rule and wants nothing.
func silent(t *testing.T, find func(*advise.View) []finding.Finding, why string, m *snap.Made) {
	t.Helper()
	if got := find(m.View()); len(got) > 0 {
		t.Errorf("%s: found all the same: %s", why, got[0].Title)
	}
}

// changed sets a gauge of the status to a row of values, one a second.
func changed(m *snap.Made, name string, from, to float64) *snap.Made {
	m.StatusAt(name, from)
	p := m.S.Series[len(m.S.Series)-1].Points
	for i := range p {
		p[i].Value = from + (to-from)*float64(i)/float64(len(p)-1)
	}
	return m
}

func status(m *snap.Made, name string, value float64) *snap.Made {
	return m.StatusAt(name, value)
}

const dataFile = "wait/io/file/innodb/innodb_data_file"

func fileReads(m *snap.Made, perSec, each float64) *snap.Made {
	return m.Rate("mysql_perf_schema_file_events_total", perSec, "event_name", dataFile, "mode", "read").
		Rate("mysql_perf_schema_file_events_seconds_total", perSec*each, "event_name", dataFile, "mode", "read")
}

func has(t *testing.T, f finding.Finding, line string) {
	t.Helper()
	if !slices.Contains(f.Setting, line) {
		t.Errorf("%s: no line %q in %v", f.Rule, line, f.Setting)
	}
}

func TestRound(t *testing.T) {
	f := func(in, want uint64) {
		t.Helper()
		if got := round(in); got != want {
			t.Errorf("round(%d) = %d, want %d", in, got, want)
		}
	}
	f(1, mib)
	f(100*mib, 104*mib)
	f(121*mib, 128*mib)
	f(128*mib, 128*mib)
	f(9*gib+1, 10*gib)
}

func TestSize(t *testing.T) {
	f := func(in uint64, want string) {
		t.Helper()
		if got := size(in); got != want {
			t.Errorf("size(%d) = %s, want %s", in, got, want)
		}
	}
	f(3*gib, "3G")
	f(1536*mib, "1536M")
	f(300*1024, "300K")
	f(1000, "1000")
}

// TestWorkingCountsTablesInUse adds up what the statements touch, each table once, and all of them where nobody knows.
func TestWorkingCountsTablesInUse(t *testing.T) {
	m := snap.Build().Exact("SELECT a FROM big WHERE id = 1", 1000, 0.01, 1, 1).Exact("UPDATE big SET a = 2 WHERE id "+
		"= 1", 1000, 0.01, 1, 0).
		Exact("SELECT a FROM rare WHERE id = 1", 1, 0.001, 1, 1)
	for i, n := range []string{"big", "rare", "unused"} {
		m.Table(n, 1000)
		m.Last().DataBytes, m.Last().IndexBytes = known.Of(uint64(100*mib<<i)), known.Of(uint64(mib))
	}
	w, ok := working(m.View())
	if !ok || w.all || w.bytes != 101*mib || len(w.tables) != 1 {
		t.Errorf("in use: %+v", w)
	}
	m.S.Classes = nil
	if w, ok = working(m.View()); !ok || !w.all || w.bytes != 703*mib || fmt.Sprint(w.tables[0]) != "shop.unused" {
		t.Errorf("all: %+v", w)
	}
}

package demo

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
)

func TestGrade(t *testing.T) {
	is := func(rule string) finding.Finding { return finding.Finding{Rule: rule, Title: rule} }
	f := func(planted, belongs, found string, wantRanks []int, wantFound bool, wantForeign string) {
		t.Helper()
		var parts []Part
		var expected []fault.Expectation
		for _, rule := range strings.Fields(planted) {
			x := fault.Fault{Name: rule, Kind: fault.Hurts, Belongs: map[string]string{belongs: "it is true as well"}}
			if rule == "control" {
				x.Kind = fault.Control
				expected = append(expected, fault.Expectation{})
			} else {
				expected = append(expected, fault.Expectation{Rule: rule})
			}
			parts = append(parts, Part{Fault: x})
		}
		var findings []finding.Finding
		for _, rule := range strings.Fields(found) {
			findings = append(findings, is(rule))
		}
		g := grade(parts, expected, findings)
		var foreign []string
		for _, x := range g.foreign {
			foreign = append(foreign, x.Rule)
		}
		if g.found != wantFound || strings.Join(foreign, " ") != wantForeign {
			t.Errorf("planted %q, findings %q: found %v, foreign %v", planted, found, g.found, foreign)
		}
		for i, p := range parts {
			if p.Rank != wantRanks[i] || (p.Found != nil) != (p.Rank == 1 || p.Rank == 2) ||
				(p.Missed != "") != (p.Found == nil && p.Fault.Kind != fault.Control) {
				t.Errorf("planted %q, findings %q: part %d has rank %d, found %v, missed %q", planted, found, i, p.Rank,
					p.Found != nil, p.Missed)
			}
		}
	}
	f("a", "", "a", []int{1}, true, "")
	f("a", "", "b a", []int{2}, true, "b")
	f("a", "b", "b a", []int{2}, true, "")
	f("a", "", "b c a", []int{3}, false, "b c")
	f("a", "", "a a", []int{1}, true, "a") // one is enough
	f("a", "", "", []int{0}, false, "")
	f("a b", "", "b a", []int{2, 1}, true, "")
	f("a b", "", "b c a", []int{3, 1}, false, "c")
	f("a a", "", "a a", []int{1, 2}, true, "") // a finding counts once
	f("a a", "", "a", []int{1, 0}, false, "")
	f("control", "", "", []int{0}, false, "")
	f("control", "", "a", []int{0}, false, "a")
}

func TestMissedSaysWhy(t *testing.T) {
	parts := []Part{{Fault: fault.Fault{Name: "x", Kind: fault.Hurts}}}
	grade(parts, []fault.Expectation{{Rule: "r", Variable: "v"}}, []finding.Finding{{Rule: "r"}})
	if m := parts[0].Missed; !strings.Contains(m, "it does not change v") {
		t.Errorf("missed: %s", m)
	}
}

func TestSettingLines(t *testing.T) {
	f := func(file string, lines []string, want string) {
		t.Helper()
		m, err := settingLines("my.cnf", finding.Finding{Rule: "r", File: file, Setting: lines})
		var got []string
		for _, k := range []string{"a_b", "c"} {
			if v, ok := m[k]; ok {
				got = append(got, k+"="+v)
			}
		}
		if s := strings.Join(got, " "); (err != nil) != (want == "") || s != want || len(m) != len(got) {
			t.Errorf("%v for %q: got %v, %v", lines, file, m, err)
		}
	}
	f("my.cnf", []string{"[mysqld]", "a_b = 4G # an hour of writes", `c="x y"`}, "a_b=4G c=x y")
	f("", []string{"c=1"}, "c=1")
	f("/etc/sysctl.d/99.conf", []string{"c=1"}, "")
	f("my.cnf", nil, "")
}

package page

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/test/browser"
)

// parcels plants a table that is read whole for want of an index, and a load that does so until the test ends, whose
// calls are counted. Its name is the test's own.
func (s *Stage) parcels(t *testing.T, table string) (calls *atomic.Int64) {
	t.Helper()
	s.Exec(fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY AUTO_INCREMENT, depot INT NOT NULL, weight INT NOT NULL, "+
		"note VARCHAR(80) NOT NULL) ENGINE=InnoDB", table),
		fmt.Sprintf("INSERT INTO %s (depot, weight, note) SELECT seq %% 1000, seq %% 77, REPEAT('x', 60) FROM "+
			"seq_1_to_60000", table), "ANALYZE TABLE "+table)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	calls = &atomic.Int64{}
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			if rows, err := s.DB.QueryContext(ctx, fmt.Sprintf("SELECT id, weight FROM %s WHERE depot = %d",
				table, i%1000)); err == nil {
				for rows.Next() {
				}
				if rows.Err() == nil { // it ends with the test, half-way
					calls.Add(1)
				}
				rows.Close()
			}
			select {
			case <-ctx.Done():
			case <-time.After(30 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		s.Exec("DROP TABLE IF EXISTS " + table)
	})
	return calls
}

// enough is how many calls of a load a look must have seen for its figures to be theirs, and not those of a machine
// that was held up.
const enough = 20

// findingOn returns the finding about a table among some.
func findingOn(all []finding.Finding, rule, table string) (finding.Finding, bool) {
	for _, f := range all {
		for _, x := range f.Subject.Tables {
			if f.Rule == rule && x.Table == table {
				return f, true
			}
		}
	}
	return finding.Finding{}, false
}

// judged is what GET findings answers with: the newest diagnosis of a target.
type judged struct {
	Diagnosis struct {
		ID       string
		Findings []finding.Finding
	}
	History []struct {
		ID         string
		Background bool
	}
}

// diagnosed has the command line look at shop while enough calls of a load run, until it finds the missing index of
// their table.
func (s *Stage) diagnosed(t *testing.T, table string, calls *atomic.Int64) (f finding.Finding) {
	t.Helper()
	eventually(t, "a finding about "+table, func() error {
		before := calls.Load()
		s.Dyno("diagnose", "shop", "--window", "5s", "--quiet")
		n := calls.Load() - before
		var a judged
		s.Get("findings?target=shop", &a)
		var ok bool
		if f, ok = findingOn(a.Diagnosis.Findings, "missing-index", table); !ok || n < enough {
			return fmt.Errorf("%d findings, after %d calls", len(a.Diagnosis.Findings), n)
		}
		return nil
	})
	return f
}

// three writes a figure as the page does: three significant digits, thousands as k, M, G.
func three(v float64) string {
	step := ""
	for _, s := range []string{"k", "M", "G"} {
		if math.Abs(v) < 999.5 {
			break
		}
		v, step = v/1000, s
	}
	switch a := math.Abs(v); {
	case step == "" && v == math.Trunc(v), a >= 99.95:
		return fmt.Sprintf("%.0f%s", v, step)
	case a >= 9.995:
		return fmt.Sprintf("%.1f%s", v, step)
	}
	return fmt.Sprintf("%.2f%s", v, step)
}

func TestFindings(t *testing.T) {
	s := stage(t)
	s.parcels(t, "parcels")
	b := s.Browser(t)
	visit(b, "/findings?target=shop")

	// Diagnose from the page, with progress; again where a busy machine let too few calls run.
	var a judged
	var want finding.Finding
	b.Until("a look from the page finds it", func() error {
		a = judged{} // what one answer lacks is not left of the one before
		s.Get("findings?target=shop", &a)
		before := a.Diagnosis.ID
		b.Select(".look-window select", "next 10 s")
		b.ClickText("Diagnose")
		b.Wait("[role=progressbar]")
		b.WaitText(".task-title", "Observe shop for 10 s")
		eventually(t, "the look", func() error {
			a = judged{}
			if s.Get("findings?target=shop", &a); a.Diagnosis.ID == before {
				return errNotYet
			}
			return nil
		})
		b.WaitText(".verdict", a.Diagnosis.ID) // it is shown at once
		b.WaitGone("[role=progressbar]")
		var ok bool
		if want, ok = findingOn(a.Diagnosis.Findings, "missing-index", "parcels"); !ok {
			return fmt.Errorf("it found %d others", len(a.Diagnosis.Findings))
		}
		return nil
	})

	// What was judged is what the page shows, figure by figure, and what the command line tells.
	var same struct{ Findings []finding.Finding }
	s.Get("diagnosis?id="+a.Diagnosis.ID, &same)
	if f, _ := findingOn(same.Findings, "missing-index", "parcels"); !reflect.DeepEqual(f, want) {
		t.Errorf("the diagnosis has %+v, the newest of the target %+v", f, want)
	}
	if text := s.Dyno("report", a.Diagnosis.ID, "--format", "md"); !strings.Contains(text, want.Title) {
		t.Errorf("the report of %s has no %q:\n%s", a.Diagnosis.ID, want.Title, text)
	}
	visit(b, "/findings?target=shop&finding="+want.ID)
	b.WaitText(".verdict", a.Diagnosis.ID)
	card := fmt.Sprintf("[data-finding='%s']", want.ID)
	b.WaitText(card+" .finding-title", want.Title)
	if got := b.Text(card + " .finding-title"); got != want.Title {
		t.Errorf("title %q, want %q", got, want.Title)
	}
	if got := b.Text(card + " .badge"); !strings.EqualFold(got, string(want.Severity)) {
		t.Errorf("severity %q, want %q", got, want.Severity)
	}
	if got, v := b.Text(card+" .finding-share"), three(want.Share*100)+"%"; strings.ReplaceAll(got, " ", "") != v {
		t.Errorf("share %q, want %q", got, v)
	}
	facts := b.Texts(card + " .fact")
	if len(facts) != len(want.Evidence) || len(facts) == 0 {
		t.Fatalf("%d facts, want %d", len(facts), len(want.Evidence))
	}
	for i, e := range want.Evidence {
		v, ok := e.Value.Get()
		if !strings.Contains(facts[i], e.What) || !strings.Contains(facts[i], strings.Join(strings.Fields(e.Text),
			" ")) || ok && e.Unit == "rows" && !strings.Contains(facts[i], three(v)) {
			t.Errorf("fact %q is not %+v", facts[i], e)
		}
	}
	if got := b.Text(card + " .change-box .sql-text"); strings.Join(strings.Fields(got), " ") != want.Action.SQL+";" {
		t.Errorf("statement %q, want %q", got, want.Action.SQL)
	}
	for _, words := range []string{
		want.Cause, want.Suggestion, want.Falsify, want.Gain.Text, "Counter-evidence",
		"Reasoning, step by step", "Where the time went", "rows read per call",
	} {
		b.Wait(words)
	}
	b.Settle()
	shots(b, "findings", "main")

	// The keyboard alone closes and opens it, and the address says which is open.
	b.Eval(fmt.Sprintf(`document.querySelector("%s .finding-head").focus()`, card), nil)
	b.Key("Enter")
	b.WaitGone(want.Cause)
	b.WaitURL("finding=none")
	b.Key("Enter")
	b.Wait(want.Cause)
	b.WaitURL("finding=" + want.ID)

	// It is ignored for a week, and brought back; both are in the audit log as any change.
	b.WaitText(card+" .finding-life", "first seen")
	b.ClickText("Ignore for 7 days")
	b.Wait("Ignored (1)")
	b.WaitText(card+" .finding-life", "ignored until")
	b.ClickText("Stop ignoring")
	b.WaitGone("Ignored (1)")
	b.Wait("Ignore for 7 days")

	// A link to a look that is gone says so, with a way back.
	refusals(b, "404", `diagnosis\?id=d-000000$`)
	b.Open("/findings?target=shop&diagnosis=d-000000")
	b.Wait(`Diagnosis: not found: diagnosis "d-000000": not found`)
}

// TestNotJudged: a server that does not answer was never judged, and looking at it says why.
func TestNotJudged(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/findings?target=down")
	b.Wait("down has not been diagnosed yet")
	b.ClickText("Diagnose")
	b.Wait(".task .badge.tone-bad")
	b.Wait("connection refused")
	shots(b, "findings-none", "main")
}

// TestJudgedByItself: a target that nobody asks about is judged when it is seen first and then every so often; who
// reads a finding is offered what came meanwhile.
func TestJudgedByItself(t *testing.T) {
	s := stage(t)
	p := own(t, s, "--judge=1s")
	b := tab(t, p.URL)
	visit(b, "/")
	b.Until("the fleet has the verdict", func() error {
		if _, words := card(t, b, "shop"); strings.Contains(words, "not diagnosed yet") {
			return errNotYet
		}
		return nil
	})
	visit(b, "/findings?target=shop&finding=that-is-read")
	b.WaitText(".verdict", "scheduled")
	b.Wait("A newer diagnosis is available")
	b.ClickText("Show it")
	var a judged
	if err := getJSON(p.URL, "findings?target=shop", &a); err != nil {
		t.Fatal(err)
	}
	if len(a.History) < 2 {
		t.Fatalf("two looks were shown, the history has %+v", a.History)
	}
	for _, x := range a.History {
		if !x.Background {
			t.Errorf("nobody asked for %+v", x)
		}
	}
}

// shots looks at a page in both themes: a picture of each, and what axe finds in a part of it; the frame is
// TestEveryPage's.
func shots(b *browser.Tab, name, part string) {
	b.ShotAll(name + "-light")
	b.Axe(part)
	b.Dark()
	b.ShotAll(name + "-dark")
	b.Axe(part)
	b.Light()
}

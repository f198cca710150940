package judge_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/judge"
	myfault "github.com/dyno-perf/dyno/internal/mysql/fault"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/test/judged"
	"github.com/dyno-perf/dyno/test/snap"
)

// TestEveryRuleHasItsTwin holds every rule to one file with a test beside it that has it find something and one that
// has it keep silent.
func TestEveryRuleHasItsTwin(t *testing.T) {
	type place struct {
		dir  string
		kind advise.Kind
	}
	all := map[place][]advise.Rule{}
	for kind, rules := range judge.Rules() {
		all[place{"advise", kind}] = rules
	}
	for kind, rules := range judged.Family(&snapshot.Snapshot{Target: snapshot.Target{Flavor: dbms.Postgres}}).Rules {
		p := place{"advise", kind} // by rules of the middle that only it asks for
		all[p] = append(all[p], rules...)
	}
	of := judged.Family(&snapshot.Snapshot{Target: snapshot.Target{Flavor: dbms.MySQL}})
	for kind, rules := range of.Rules {
		all[place{"mysql/advise", kind}] = rules
	}
	for p, rules := range all {
		for _, r := range rules {
			file := filepath.Join("..", p.dir, string(p.kind), strings.ReplaceAll(r.Name, "-", "_"))
			if _, err := os.Stat(file + ".go"); err != nil {
				t.Errorf("rule %s has no file of its own: %v", r.Name, err)
			}
			b, err := os.ReadFile(file + "_test.go")
			if err != nil {
				t.Errorf("rule %s has no test: %v", r.Name, err)
				continue
			}
			var name strings.Builder
			for w := range strings.SplitSeq(r.Name, "-") {
				name.WriteString(strings.ToUpper(w[:1]) + w[1:])
			}
			for _, want := range []string{"func Test" + name.String() + "(", "func Test" + name.String() + "Silent("} {
				if !bytes.Contains(b, []byte(want)) {
					t.Errorf("%s_test.go has no %s…)", file, want)
				}
			}
			if r.Doc == "" {
				t.Errorf("rule %s says not what it looks for", r.Name)
			}
		}
	}
}

// kept returns the snapshots of planted faults that the corpus holds, by file name. Nobody changes them.
func kept(t testing.TB) map[string]*snapshot.Snapshot {
	t.Helper()
	out, err := corpus()
	if err != nil || len(out) == 0 {
		t.Fatalf("no snapshots of faults: %v", err)
	}
	return out
}

// corpus reads them once for all tests.
var corpus = sync.OnceValues(func() (map[string]*snapshot.Snapshot, error) {
	files, err := filepath.Glob(filepath.Join("..", "advise", "testdata", "faults", "*.json.gz"))
	out := map[string]*snapshot.Snapshot{}
	for _, f := range files {
		s, rerr := unpacked(f)
		if rerr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", f, rerr))
			continue
		}
		out[filepath.Base(f)] = s
	}
	return out, err
})

func unpacked(file string) (*snapshot.Snapshot, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	return snapshot.Decode(b)
}

var corpusName = regexp.MustCompile(`^([a-z-]+(?:\+[a-z-]+)?)\.(mariadb|mysql)\.([0-9]+)\.json\.gz$`)

// TestFaultsAreFoundInTheirSnapshots judges what real servers looked like with a fault planted: what was planted is
// found first or second and nothing else is, as a stranger would have to.
func TestFaultsAreFoundInTheirSnapshots(t *testing.T) {
	seen := map[string]bool{}
	for name, s := range kept(t) {
		m := corpusName.FindStringSubmatch(name)
		if m == nil {
			t.Errorf("%s: a snapshot is called FAULT.FLAVOR.SEED.json.gz", name)
			continue
		}
		f, ok := myfault.Set().Find(m[1])
		if !ok {
			t.Errorf("%s: there is no such fault", name)
			continue
		}
		seen[f.Name] = true
		seed, err := strconv.ParseUint(m[3], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		symptoms, findings := judged.Findings(s)
		want := f.Expect(seed)
		rank := 0
		var told []string
		for i, x := range findings {
			why := want.Wrong(x)
			told = append(told, fmt.Sprintf("%s (%s, %.0f %%): %s", x.ID, why, 100*x.Share, x.Title))
			if rank == 0 && why == "" {
				rank = i + 1
				continue
			}
			if f.Belongs[x.Rule] == "" {
				t.Errorf("%s: foreign: %s: %s", name, x.ID, x.Title)
			}
		}
		if f.Kind != fault.Control && (rank == 0 || rank > 2) {
			var odd []string
			for _, x := range symptoms {
				odd = append(odd, x.ID)
			}
			t.Errorf("%s: %s stands at rank %d among\n  %s\nsymptoms %v", name, want.Rule, rank,
				strings.Join(told, "\n  "), odd)
		}
	}
	for _, f := range myfault.All() {
		if !seen[f.Name] {
			t.Errorf("no snapshot of %s", f.Name)
		}
	}
}

// TestFindingsAreWhole holds every finding about the corpus to what a reader needs of it.
func TestFindingsAreWhole(t *testing.T) {
	for name, s := range kept(t) {
		_, findings := judged.Advise(s, advise.Kinds()...)
		for _, f := range findings {
			lack := func(what string, is bool) {
				if is {
					t.Errorf("%s: %s has no %s", name, f.ID, what)
				}
			}
			lack("title", f.Title == "")
			lack("evidence", len(f.Evidence) == 0)
			lack("suggestion", f.Suggestion == "")
			if f.Severity == finding.Fact {
				continue
			}
			lack("cause", f.Cause == "")
			lack("falsification", f.Falsify == "")
			lack("confidence", f.Confidence == "")
			lack("reasoning", len(f.Why) == 0)
			lack("cost", f.Cost == "" && (f.Action != nil || len(f.Setting) > 0))
			lack("severity", f.Severity.Rank() == 0)
			lack("share between 0 and 1", f.Share < 0 || f.Share > 1)
			if g := f.Gain; g != nil && (g.Lo <= 0 || g.Hi < g.Lo) {
				t.Errorf("%s: %s promises a gain of %v to %v", name, f.ID, g.Lo, g.Hi)
			}
		}
		again, _ := s.Encode()
		if second, err := snapshot.Decode(again); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if _, f2 := judged.Advise(second, advise.Kinds()...); written(t, f2) != written(t, findings) {
			t.Errorf("%s: judged twice, found differently", name)
		}
	}
}

func written(t *testing.T, findings []finding.Finding) string {
	t.Helper()
	b, err := json.Marshal(findings)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// BenchmarkJudge judges a server with 5 000 classes and 10 000 tables.
func BenchmarkJudge(b *testing.B) {
	s := snap.Large(1)
	b.ReportAllocs()
	for b.Loop() {
		judged.Findings(s)
	}
}

package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/test/snap"
)

// things adds a table of 300 000 rows with short columns a, b, c, d, c1, c2 and a long one, and indexes "name: a, b".
func things(m *snap.Made, indexes ...string) *snap.Made {
	return tableOf(m, "things", 300_000, indexes...)
}

func tableOf(m *snap.Made, name string, rows uint64, indexes ...string) *snap.Made {
	m.Table(name, rows, snap.Col("a", "int", 4), snap.Col("b", "int", 4), snap.Col("c", "int", 4),
		snap.Col("d", "varchar", 80), snap.Col("c1", "int", 4),
		snap.Col("c2", "int", 4), snap.Col("remark", "varchar", 4000))
	for _, x := range indexes {
		k, cols, _ := strings.Cut(x, ": ")
		m.Index(k, false, 0, strings.Split(cols, ", ")...)
	}
	return m
}

// distincts sets the number of different values of the first column of an index.
func distincts(m *snap.Made, index string, n uint64) *snap.Made {
	for i, x := range m.Last().Indexes {
		if x.Name == index {
			m.Last().Indexes[i].Parts[0].Cardinality = known.Of(n)
		}
	}
	return m
}

// by is a step that reads by an index.
func by(access, key string, rows float64, extra ...string) explain.Step {
	return explain.Step{
		SelectType: "SIMPLE", Table: "things", Access: access, PossibleKeys: strings.Split(key, ","),
		Key: key, Rows: rows, Extra: extra,
	}
}

// adds asks the rules that add indexes.
func adds(s *snapshot.Snapshot, symptoms []finding.Symptom) []finding.Finding {
	v := snap.View(s, symptoms)
	var out []finding.Finding
	for _, r := range addRules() {
		out = append(out, r.Find(v)...)
	}
	return advise.Settle(map[advise.Kind][]finding.Finding{advise.Index: out})
}

// told returns the findings in short: rule and index.
func told(m *snap.Made) (out []string) {
	for _, f := range adds(m.S, m.Symptoms) {
		s := f.Rule
		if f.Action != nil && len(f.Action.Changes) > 0 {
			for _, c := range f.Action.Changes {
				s += " (" + strings.ReplaceAll(ddl.PartsSQL(c.Index.Parts), "`", "") + ")"
			}
		} else if f.Action != nil {
			s += " (" + strings.ReplaceAll(ddl.PartsSQL(f.Action.Index.Parts), "`", "") + ")"
		}
		out = append(out, s)
	}
	return out
}

// finds fails unless the snapshot gives just these findings; it returns the first.
func finds(t *testing.T, m *snap.Made, want ...string) finding.Finding {
	t.Helper()
	if got := told(m); !slices.Equal(got, want) {
		t.Errorf("%s\n got  %v\n want %v", m.S.Classes[0].Fingerprint, got, want)
		return finding.Finding{}
	}
	fs := adds(m.S, m.Symptoms)
	for _, f := range fs {
		complete(t, f)
	}
	if len(fs) == 0 {
		return finding.Finding{}
	}
	return fs[0]
}

// says fails unless a text holds every one of the words.
func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in: %s", w, text)
		}
	}
}

// TestWorkload: indexes are wished for by the whole workload, and small classes count together.
func TestWorkload(t *testing.T) {
	// Twelve classes of 8 % each want the same two columns, alone or together.
	m := things(snap.Build())
	for i := range 12 {
		q := fmt.Sprintf("SELECT c%d FROM things WHERE a = 5 AND b = 6", i%2+1)
		if i%3 == 0 {
			q = "SELECT c1, c2 FROM things WHERE a = 7"
		}
		q += strings.Repeat(" AND c <> 3", i)
		m.Exact(q, 100, 0.008, 300_000, 10).Plan(snap.All("things", 300_000))
	}
	f := finds(t, m, "missing-index (a, b)")
	if len(f.Subject.Classes) != 12 || f.Share < 0.99 {
		t.Errorf("%d classes with %v", len(f.Subject.Classes), f.Share)
	}

	// What its upkeep costs is held against what it gives back.
	m = things(snap.Build()).Exact("SELECT c FROM things WHERE a = 5", 100, 0.01, 300_000, 10).
		Plan(snap.All("things", 300_000)).
		Exact("INSERT INTO things (a) VALUES (1)", 20_000, 0.00001, 0, 0, affected(20_000))
	finds(t, m)

	// A class that waits for locks gets no index for its waiting.
	m = things(snap.Build(), "k: a").Exact("UPDATE things SET c = 1 WHERE a = 5 AND b = 6", 100, 0.1, 2000, 0,
		affected(100)).Plan(by("ref", "k", 2000))
	m.S.Classes[0].LockSec = known.Of(9.9)
	m.Exact("SELECT c FROM things WHERE id = 1", 100, 0.1, 1, 1)
	finds(t, m)

	// Nor does one that takes its time for something else than its rows.
	m = tableOf(snap.Build(), "things", 1500).Exact("SELECT c FROM things WHERE a = 5", 1, 45, 1500, 10).
		Plan(snap.All("things", 1500))
	finds(t, m)

	// The dictionary is the server's own.
	m = things(snap.Build()).Exact("SELECT a FROM information_schema.things WHERE b = 1", 100, 0.1, 300_000, 10).
		Plan(snap.All("things", 300_000))
	m.Last().Schema = "information_schema"
	finds(t, m)
}

// TestParts: what stands within a statement is looked at as well.
func TestParts(t *testing.T) {
	f := func(q, want string, steps ...explain.Step) {
		t.Helper()
		m := tableOf(things(snap.Build()), "others", 200_000)
		m.Exact(q, 100, 0.1, 200_000, 10).Plan(steps...)
		if strings.HasPrefix(q, "INSERT") {
			m.S.Classes[0].Affected = known.Of(uint64(1000))
		}
		finds(t, m, want)
	}
	one := func(kind string, x explain.Step) explain.Step {
		x.SelectType = kind
		return x
	}
	f("SELECT c FROM things WHERE id IN (SELECT b FROM others WHERE a = 5)", "missing-index (a)",
		one("SUBQUERY", snap.All("others", 200_000)), explain.Step{
			SelectType: "PRIMARY", Table: "things",
			Access: "eq_ref", Key: "PRIMARY", Rows: 1,
		})
	f("SELECT c, (SELECT MAX(c1) FROM others o WHERE o.a = things.id) FROM things WHERE id = 5", "missing-index (a)",
		explain.Step{SelectType: "PRIMARY", Table: "things", Access: "const", Key: "PRIMARY", Rows: 1},
		one("DEPENDENT SUBQUERY", snap.All("o", 200_000)))
	f("SELECT c FROM things WHERE id = 5 UNION ALL SELECT c FROM others WHERE a = 7", "missing-index (a)",
		explain.Step{SelectType: "PRIMARY", Table: "things", Access: "const", Key: "PRIMARY", Rows: 1},
		one("UNION", snap.All("others", 200_000)))
	f("INSERT INTO things (a) SELECT b FROM others WHERE d = 'x'", "missing-index (d)", snap.All("others", 200_000))
	f("SELECT x.c FROM (SELECT c FROM others WHERE a = 5 GROUP BY c) x WHERE x.c > 3", "missing-index (a, c)",
		one("PRIMARY", snap.All("<derived2>", 100)), one("DERIVED", snap.All("others", 200_000)))
	f("UPDATE others SET c = 3 WHERE a = 5 AND b > 7", "missing-index (a, b)", snap.All("others", 200_000))
	f("DELETE FROM others WHERE a IN (1, 2, 3) AND b < 9", "missing-index (a, b)", snap.All("others", 200_000))
}

func sampleOf(distinct int) *schema.ColumnSample {
	return &schema.ColumnSample{Rows: 1000, Distinct: distinct, Top: 1 / float64(distinct)}
}

// TestManyTables keeps judgement fast where thousands of tables differ only in the digits that fingerprints lose.
func TestManyTables(t *testing.T) {
	m := snap.Build()
	for i := range 10_000 {
		tableOf(m, fmt.Sprintf("things%d", i), 300_000, "k: c, d")
	}
	for i := range 5000 {
		m.Exact(fmt.Sprintf("SELECT a FROM things%d WHERE c > 5 AND d = 'x' AND %c%d = 1", i, 'a'+i%26, i), 10, 0.01,
			300_000, 3, func(c *class.Class) {
				c.ID = fmt.Sprintf("%032X", i)
				c.FullScans = known.Of(c.Count)
				if i%2 == 0 {
					c.Example = ""
				}
			})
	}
	start := time.Now()
	adds(m.S, nil)
	d := time.Since(start)
	t.Logf("judged in %v", d)
	if d > 20*time.Second {
		t.Fatalf("took %v", d)
	}
	// A few hold all the time.
	for i := range m.S.Classes {
		if i >= 90 {
			m.S.Classes[i].TimeSec = 1e-6
		}
	}
	start = time.Now()
	adds(m.S, nil)
	t.Logf("judged ninety in %v", time.Since(start))
}

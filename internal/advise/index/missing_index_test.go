package index

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/snap"
)

var update = flag.Bool("update", false, "write testdata anew")

const byStatus = "SELECT id, customer FROM orders WHERE status = 'open'"

// cases are built snapshots with the indexes that must come out, "table(columns) confidence severity"; none for
// silence.
var cases = []struct {
	name string
	made *snap.Made
	want []string
}{
	{
		"found-exact", orders(snap.Build().Saturated().Status("Handler_read_rnd_next", 2.3e6).
			Rate("mysql_global_status_rows_sent", 405).
			Exact("SELECT name FROM customers WHERE id = 5", 20000, 0.00005, 1, 1).
			Exact("INSERT INTO orders (customer, status) VALUES (1, 'open')", 1000, 0.0001, 0, 0, affected(1000)).
			Exact(byStatus, 230, 0.08, 100_000, 17).Plan(snap.All("orders", 99_500)), 100_000),
		[]string{"orders(status) certain critical"},
	},
	{
		"found-sampled", orders(snap.Build().Lose("digests", source.Missing, "performance_schema is off",
			"performance_schema=ON and a restart").Saturated().
			Status("Handler_read_rnd_next", 2.3e6).Rate("mysql_global_status_rows_sent", 405).
			Sampled(byStatus, 17.5, examined(9_000_000)).Plan(snap.All("orders", 99_500)), 100_000),
		[]string{"orders(status) likely critical"},
	},
	{
		"mysql", mysql(orders(snap.Build().Saturated().Status("Handler_read_rnd_next", 2.3e6).
			Exact("DELETE FROM orders WHERE customer = 7 AND status IN ('a', 'b')", 200, 0.08, 100_000, 0,
				affected(400)).Plan(snap.All("orders", 99_500)), 100_000)),
		[]string{"orders(customer,status) certain critical"},
	},
	{"healthy", orders(snap.Build().Exact("SELECT * FROM orders WHERE id = 5", 30_000, 0.0005, 1, 1).
		Plan(explain.Step{
			Table: "orders", Access: "const", Key: "PRIMARY", PossibleKeys: []string{"PRIMARY"},
			Rows: 1,
		}), 100_000), nil},
	{
		"small-table", orders(snap.Build().Exact(byStatus, 20_000, 0.0005, 300, 2).Plan(snap.All("orders", 300)), 300),
		nil,
	},
	{"most-rows-match", orders(snap.Build().Exact(byStatus, 100, 0.1, 100_000, 45_000).Plan(snap.All("orders",
		100_000)),
		100_000), nil},
	{"indexed-but-unselective", orders(snap.Build().Exact("SELECT COUNT(customer) FROM orders WHERE status = 'open'",
		100,
		0.1, 100_000, 1).
		Plan(snap.All("orders", 100_000, "st")), 100_000).Index("st", false, 2, "status"), nil},
	{
		"composite-over-unselective",
		orders(snap.Build().Exact("SELECT id FROM orders WHERE status = 'open' AND customer = 3",
			100, 0.1, 100_000, 3).
			Plan(snap.All("orders", 100_000, "st")), 100_000).Index("st", false, 2, "status"),
		[]string{"orders(customer,status) certain warning"},
	},
	{
		"served-in-other-order", orders(snap.Build().Exact("SELECT id FROM orders WHERE status = 'open' AND customer "+
			"= 3",
			100,
			0.1, 100_000, 3).
			Plan(snap.All("orders", 100_000, "cs")), 100_000).Index("cs", false, 50_000, "status",
			"customer", "created"),
		nil,
	},
	{
		"hidden-index", orders(snap.Build().Exact(byStatus, 100, 0.1, 100_000, 3).Plan(snap.All("orders", 100_000)),
			100_000).
			Index("st", true, 900, "status"),
		[]string{"orders(status) certain warning"},
	},
	{
		"denied-sources", orders(snap.Build().Lose("digests", source.Denied, "SELECT on performance_schema is denied",
			"GRANT SELECT ON performance_schema.* TO 'dyno'@'%'").
			Lose("process", source.Missing, "the server runs elsewhere", "").
			Status("Handler_read_rnd_next", 2.3e6).Rate("mysql_global_status_rows_sent", 405).
			Symptom("rnd-next", "server", "scans read 2.3M rows/s").Sampled(byStatus, 9), 100_000),
		[]string{"orders(status) possible warning"},
	},
	{"no-traffic", orders(snap.Build(), 100_000), nil},
	{"light-traffic", orders(snap.Build().Exact(byStatus, 3, 0.08, 100_000, 17).Plan(snap.All("orders", 100_000)),
		100_000), nil},
	{
		"join",
		orders(snap.Build().Exact("SELECT c.id, o.id FROM customers c JOIN orders o ON o.customer = c.id WHERE "+
			"c.name = 'Ann'", 100, 0.1, 100_500, 5, func(c *class.Class) { c.FullJoins = known.Of(c.Count) }).
			Plan(snap.All("c", 20_000), explain.Step{Table: "o", Access: "ALL", Rows: 100_000, Extra: []string{
				"Using where",
				"Using join buffer (flat, BNL join)",
			}}).
			Table("customers", 20_000, snap.Col("name", "varchar", 400)), 100_000),
		[]string{"orders(customer) likely warning"},
	},
	{
		"order-by", orders(snap.Build().Exact("SELECT id FROM orders WHERE status = 'open' ORDER BY created LIMIT 10",
			100,
			0.1, 100_000, 10).Plan(snap.All("orders", 100_000)), 100_000),
		[]string{"orders(status,created) certain warning"},
	},
	{
		"range-after-equality",
		orders(snap.Build().Exact("SELECT id FROM orders WHERE created > '2026-04-30' AND status "+
			"= 'open' ORDER BY customer", 100, 0.1, 100_000, 10).Plan(snap.All("orders", 100_000)), 100_000),
		[]string{"orders(status,created) certain warning"},
	},
	{
		"in-list", orders(snap.Build().Exact("SELECT id FROM orders WHERE customer IN (1, 2, 3)", 100, 0.1, 100_000,
			10).
			Plan(snap.All("orders", 100_000)), 100_000),
		[]string{"orders(customer) certain warning"},
	},
	{
		"or-condition", orders(snap.Build().Exact("SELECT id FROM orders WHERE customer = 3 OR status = 'open'", 100,
			0.1,
			100_000, 10).Plan(snap.All("orders", 100_000)), 100_000),
		[]string{"orders(customer,status) certain warning"},
	},
	{"function-around-column", orders(snap.Build().Exact("SELECT id FROM orders WHERE LOWER(status) = 'open'", 100, 0.1,
		100_000, 10).Plan(snap.All("orders", 100_000)), 100_000), nil},
	{"json-column", orders(snap.Build().Exact("SELECT id FROM orders WHERE extra = '{}'", 100, 0.1, 100_000, 10).
		Plan(snap.All("orders", 100_000)), 100_000), nil},
	{
		"text-column", orders(snap.Build().Exact("SELECT id FROM orders WHERE note = 'x' AND customer = 3", 100, 0.1,
			100_000, 10).Plan(snap.All("orders", 100_000)), 100_000),
		[]string{"orders(customer,note) certain warning"},
	},
	{
		"absurd-statistics", orders(snap.Build().Exact(byStatus, 100, 0.1, 100_000, 10).Plan(snap.All("orders", 1)), 0).
			Index("c", false, 0, "created"),
		[]string{"orders(status) certain warning"},
	},
	{
		"aggregate", orders(snap.Build().Exact("SELECT COUNT(*) FROM orders WHERE status = 'open'", 100, 0.1, 100_000,
			1).
			Plan(snap.All("orders", 100_000)), 100_000),
		[]string{"orders(status) likely warning"},
	},
	{
		"no-plan-but-counters", orders(snap.Build().Exact(byStatus, 100, 0.1, 100_000, 10, func(c *class.Class) {
			c.FullScans = known.Of(c.Count)
		}), 100_000),
		[]string{"orders(status) likely warning"},
	},
	{"no-plan-and-no-scan", orders(snap.Build().Exact(byStatus, 100, 0.1, 100_000, 10), 100_000), nil},
	{"plan-says-ref", orders(snap.Build().Exact(byStatus, 100, 0.1, 100_000, 10).Plan(explain.Step{
		Table:  "orders",
		Access: "ref", Key: "x", Rows: 90_000,
	}), 100_000), nil},
	{
		"two-classes-one-index", orders(snap.Build().Exact(byStatus, 100, 0.1, 100_000, 10).Plan(snap.All("orders",
			100_000)).
			Exact("SELECT id FROM orders WHERE status = 'open' AND customer = 4", 60, 0.1, 100_000, 10).
			Plan(snap.All("orders", 100_000)), 100_000),
		[]string{"orders(status,customer) certain warning"},
	},
	{
		"two-indexes", orders(snap.Build().Exact(byStatus, 60, 0.1, 100_000, 10).Plan(snap.All("orders", 100_000)).
			Exact("SELECT id FROM orders WHERE customer = 4", 100, 0.1, 100_000, 10).Plan(snap.All("orders", 100_000)),
			100_000),
		[]string{"orders(customer) certain warning", "orders(status) certain warning"},
	},
	{
		"name-with-digits", snap.Build().Exact("SELECT c FROM sbtest1 WHERE pad = 'x'", 100, 0.1, 100_000, 10,
			func(c *class.Class) { c.Example = "" }).Plan(snap.All("sbtest1", 100_000)).
			Table("sbtest1", 100_000, snap.Col("c", "char", 480), snap.Col("pad", "char", 240)),
		[]string{"sbtest1(pad) certain warning"},
	},
}

func affected(n uint64) func(*class.Class) {
	return func(c *class.Class) { c.Affected = known.Of(n) }
}

func examined(n uint64) func(*class.Class) {
	return func(c *class.Class) { c.Examined = known.Of(n) }
}

func mysql(m *snap.Made) *snap.Made {
	m.S.Target.Flavor, m.S.Target.Version = "mysql", "9.7.0"
	return m
}

// TestMissingIndex judges the snapshots in testdata and compares every word. After an intended change run it with
// -update and read the difference.
func TestMissingIndex(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join("testdata", c.name)
			b, err := c.made.S.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, "snapshot.json"), b)
				write(t, filepath.Join(dir, "symptoms.json"), encode(t, c.made.Symptoms))
			}
			s, err := snapshot.Decode(read(t, filepath.Join(dir, "snapshot.json")))
			if err != nil {
				t.Fatal(err)
			}
			var symptoms []finding.Symptom
			if err := json.Unmarshal(read(t, filepath.Join(dir, "symptoms.json")), &symptoms); err != nil {
				t.Fatal(err)
			}
			fs := adds(s, symptoms)
			got := encode(t, fs)
			if again := encode(t, adds(s, symptoms)); !bytes.Equal(got, again) {
				t.Fatal("the same snapshot gave other findings")
			}
			var short []string
			for _, f := range fs {
				short = append(short, fmt.Sprintf("%s(%s) %s %s", f.Subject.Tables[0].Table,
					strings.Join(f.Subject.Columns, ","), f.Confidence, f.Severity))
				complete(t, f)
			}
			if fmt.Sprint(short) != fmt.Sprint(c.want) {
				t.Fatalf("got %v, want %v\n%s", short, c.want, got)
			}
			if *update {
				write(t, filepath.Join(dir, "want.json"), got)
			} else if want := read(t, filepath.Join(dir, "want.json")); !bytes.Equal(got, want) {
				t.Fatalf("the findings differ from want.json, got\n%s", got)
			}
		})
	}
}

// TestMissingIndexSilent: the silent ones among the cases are silent, and so are rows that are read for good reason.
func TestMissingIndexSilent(t *testing.T) {
	silent := 0
	for _, c := range cases {
		if c.want == nil {
			silent++
			if fs := adds(c.made.S, c.made.Symptoms); len(fs) > 0 {
				t.Errorf("%s: %s", c.name, fs[0].Title)
			}
		}
	}
	if silent < 10 {
		t.Errorf("%d silent cases", silent)
	}
}

// TestMissingIndexOfOneDatabase has the same statement run in two databases: the plan of one says nothing about the
// other.
func TestMissingIndexOfOneDatabase(t *testing.T) {
	m := orders(snap.Build().Saturated().Status("Handler_read_rnd_next", 2.3e6).Exact(byStatus, 230,
		0.08, 100_000, 17), 100_000)
	here := m.S.Classes[0]
	there := here
	there.Schema, there.Examined, there.TimeSec = "north", known.Of(uint64(230*17)), 0.2
	table := m.S.Tables[0]
	table.Schema = "north"
	table.Indexes = append(slices.Clone(table.Indexes), schema.Index{
		Name: "st", Type: "BTREE",
		Parts: []schema.IndexPart{{Column: "status", Cardinality: known.Of(uint64(5000))}},
	})
	m.S.Classes, m.S.Tables = append(m.S.Classes, there), append(m.S.Tables, table)
	ref := explain.Plan{Class: here.ID, Schema: "north", Steps: []explain.Step{{
		Table: "orders", Access: "ref",
		Key: "st", PossibleKeys: []string{"st"}, Rows: 17,
	}}}
	whole := explain.Plan{Class: here.ID, Schema: "shop", Steps: []explain.Step{snap.All("orders", 99_500)}}
	for _, plans := range [][]explain.Plan{{ref, whole}, {whole, ref}} {
		m.S.Plans = plans
		fs := adds(m.S, m.Symptoms)
		if len(fs) != 1 || fs[0].Rule != "missing-index" || fs[0].Subject.Tables[0].Schema != "shop" ||
			fs[0].Confidence != finding.Certain {
			t.Errorf("%d findings: %+v", len(fs), fs)
		}
	}
}

// complete checks what every finding of the rule must hold.
func complete(t *testing.T, f finding.Finding) {
	t.Helper()
	if f.Title == "" || f.Cause == "" || len(f.Evidence) < 3 || f.Falsify == "" || f.Suggestion == "" || f.Cost == "" ||
		len(f.Why) < 5 || len(f.Subject.Classes) == 0 {
		t.Errorf("incomplete: %+v", f)
	}
	if f.Action != nil && (!strings.HasPrefix(f.Action.SQL, "ALTER TABLE `shop`.`") || f.Action.Undo == "") {
		t.Errorf("action: %+v", f.Action)
	}
	if f.Gain != nil && !(1 <= f.Gain.Lo && f.Gain.Lo <= f.Gain.Hi) {
		t.Errorf("gain: %+v", f.Gain)
	}
	for _, e := range f.Evidence {
		if e.Text == "" || e.Source == "" || strings.Contains(e.Text, "unknown") || strings.Contains(e.Text, "NaN") {
			t.Errorf("evidence: %+v", e)
		}
	}
}

func TestDetails(t *testing.T) {
	get := func(name string) finding.Finding {
		t.Helper()
		for _, c := range cases {
			if c.name == name {
				return adds(c.made.S, c.made.Symptoms)[0]
			}
		}
		t.Fatalf("no case %s", name)
		return finding.Finding{}
	}
	f := get("found-exact")
	if want := "94 % of the statement time is one class that reads 2.3M rows a second to return 391"; f.Title != want {
		t.Errorf("title %q, want %q", f.Title, want)
	}
	if want := "ALTER TABLE `shop`.`orders` ADD INDEX `idx_status` (`status`)"; f.Action.SQL != want {
		t.Errorf("SQL %q", f.Action.SQL)
	}
	if f.ID != finding.MakeID("missing-index", "shop.orders", "status") {
		t.Errorf("id %s", f.ID)
	}
	if !strings.Contains(f.Cost, "100 rows/s") || !strings.Contains(f.Cost, "Space: about 6.28 MiB for 100k rows") {
		t.Errorf("cost %q", f.Cost)
	}
	if f = get("found-sampled"); len(f.Unobserved) != 1 || !strings.Contains(f.Unobserved[0],
		"performance_schema=ON") || len(f.Against) == 0 {
		t.Errorf("a sampled finding must say what it lacks: %+v", f)
	}
	if f = get("hidden-index"); f.Action != nil || !strings.Contains(f.Suggestion, "ALTER INDEX `st` NOT IGNORED") {
		t.Errorf("hidden: %q %v", f.Suggestion, f.Action)
	}
	if f = get("order-by"); !strings.Contains(f.Cause, "match status the") {
		t.Errorf("cause %q", f.Cause)
	}
	if f = get("text-column"); f.Action.SQL != "ALTER TABLE `shop`.`orders` ADD INDEX `idx_customer_note` "+
		"(`customer`, `note`(64))" {
		t.Errorf("SQL %q", f.Action.SQL)
	}
	if f = get("two-classes-one-index"); len(f.Subject.Classes) != 2 || f.Share < 0.99 {
		t.Errorf("classes %v, share %v", f.Subject.Classes, f.Share)
	}
}

// TestManyClasses keeps judgement fast enough to be asked for each second.
func TestManyClasses(t *testing.T) {
	m := orders(snap.Build(), 100_000).Exact(byStatus, 100, 0.1, 100_000, 10).Plan(snap.All("orders", 100_000))
	for i := range 5000 {
		q := fmt.Sprintf("UPDATE orders SET note = 'x' WHERE id = 3 AND %s = 1", strings.Repeat("c", i%50+1)+
			fmt.Sprintf("_%c%c", 'a'+i/50%26, 'a'+i/1300))
		fp := mytext.Fingerprint(q)
		m.S.Classes = append(m.S.Classes, class.Class{
			ID: fmt.Sprintf("%032X", i), Fingerprint: fp, Schema: "shop",
			Origin: class.PerformanceSchema, Count: 1, TimeSec: 0.0001,
		})
	}
	start := time.Now()
	if fs := adds(m.S, nil); len(fs) != 1 {
		t.Fatalf("got %d findings", len(fs))
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Fatalf("5000 classes took %v", d)
	}
}

func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if r.Name == "" || r.Doc == "" || r.Find == nil || seen[r.Name] {
			t.Errorf("rule %+v", r)
		}
		seen[r.Name] = true
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, file string, b []byte) {
	t.Helper()
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func orders(m *snap.Made, rows uint64) *snap.Made {
	return m.Table("orders", rows, snap.Col("customer", "int", 4), snap.Col("status", "varchar", 80),
		snap.Col("created", "datetime", 5), snap.Col("note", "text", 65535), snap.Col("extra", "json", 0))
}

package advise_test

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/snap"
)

func TestViewFigures(t *testing.T) {
	v := snap.Build().Status("Innodb_log_waits", 3).Gauge("mysql_global_status_threads_running", 7).
		Set("max_connections", "151").Set("log_bin", "ON").
		Lose("digests", source.Denied, "a privilege is missing", "GRANT x").View()
	if x, ok := v.Status("Innodb_log_waits").Get(); !ok || x != 3 {
		t.Errorf("rate %v %v", x, ok)
	}
	if x, ok := v.Gauge("Threads_running").Get(); !ok || x != 7 {
		t.Errorf("gauge %v %v", x, ok)
	}
	if x, ok := v.Mean("mysql_global_status_threads_running").Get(); !ok || x != 7 {
		t.Errorf("mean %v %v", x, ok)
	}
	if v.Status("Nothing").OK() || v.Gauge("Nothing").OK() || v.Number("nothing").OK() || v.On("nothing") {
		t.Error("what was not seen has a value")
	}
	if x, ok := v.Number("max_connections").Get(); !ok || x != 151 || !v.On("log_bin") {
		t.Errorf("variables %v %v", x, ok)
	}
	if v.Seen("digests") || v.Blind("digests") != "Data unavailable: digests (a privilege is missing). Fix: GRANT x" ||
		v.Blind("host") != "" {
		t.Errorf("blind: %q", v.Blind("digests"))
	}
	if n := len(v.All("dyno_server_cpu_seconds_total")); n != 2 {
		t.Errorf("%d series", n)
	}
	if x, ok := v.Rate("dyno_server_cpu_seconds_total", metric.Label{Name: "mode", Value: "system"}).Get(); !ok ||
		x != 0.2 {
		t.Errorf("labelled rate %v %v", x, ok)
	}
}

func TestViewAtLeast(t *testing.T) {
	f := func(version string, want bool, least ...int) {
		t.Helper()
		if got := snap.Build().MySQL(version).View().AtLeast(least...); got != want {
			t.Errorf("%s at least %v: %v", version, least, got)
		}
	}
	f("8.0.33", true, 8, 0)
	f("8.0.33", true, 8, 0, 30)
	f("8.0.13", false, 8, 0, 30)
	f("5.7.44", false, 8)
	f("9.7.4", true, 8, 0, 30)
	f("10.11.6-MariaDB-log", true, 10, 6)
	f("8", true, 8, 0)
	f("", true, 8) // unknown: what a server can do is told by its variables
}

func TestPlansOfOneStatementInSeveralDatabases(t *testing.T) {
	m := snap.Build().Exact("SELECT a FROM t WHERE b = 1", 10, 0.1, 1, 1).Plan(snap.All("t", 1000))
	here := m.S.Classes[0]
	there, nowhere := here, here
	there.Schema, nowhere.Schema = "north", "south"
	m.S.Classes = append(m.S.Classes, there, nowhere)
	m.S.Plans = append(m.S.Plans, explain.Plan{
		Class: here.ID, Schema: "north",
		Steps: []explain.Step{{Table: "t", Access: "ref", Key: "b", Rows: 1}},
	})
	f := func(name string, c class.Class, access string) {
		t.Helper()
		v := m.View()
		p, ok := v.Plan(c)
		s, whole := v.Snapshot.Plan(c)
		if ok != (access != "") || whole != ok || ok && (p.Steps[0].Access != access || s.Steps[0].Access != access) {
			t.Errorf("%s: %+v %v, %+v %v", name, p, ok, s, whole)
		}
	}
	f("one", here, "ALL")
	f("the other", there, "ref")
	f("not asked for", nowhere, "")
	v := m.View()
	for i, p := range v.Plans {
		if c, ok := v.ClassOf(p); !ok || c.Schema != m.S.Classes[i].Schema {
			t.Errorf("plan %d is of %s, %v", i, c.Schema, ok)
		}
	}
	m.S.Plans = []explain.Plan{{Class: here.ID, Steps: []explain.Step{{Table: "t", Access: "range", Rows: 5}}}}
	f("a plan that does not say where", nowhere, "range")
	if c, ok := m.View().ClassOf(m.S.Plans[0]); !ok || c.Schema != here.Schema {
		t.Errorf("it is of %s, %v", c.Schema, ok)
	}
}

func TestViewResolve(t *testing.T) {
	v := snap.Build().Table("orders", 10).Table("sbtest1", 10).Table("sbtest2", 10).View()
	f := func(schema, name, def, want string) {
		t.Helper()
		got, ok := v.Resolve(class.Class{Schema: def}, shape.TableRef{Schema: schema, Name: name})
		if ok != (want != "") || got.Table != want {
			t.Errorf("%s.%s: %q %v", schema, name, got.Table, ok)
		}
	}
	f("", "orders", "shop", "orders")
	f("shop", "ORDERS", "", "orders")
	f("other", "orders", "", "")
	f("", "orders", "other", "")
	f("", "sbtest?", "shop", "") // two that it could be
	f("", "nothing", "shop", "")
	f("", "", "shop", "")
}

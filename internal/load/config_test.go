package load

import (
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/pace"
	"github.com/dyno-perf/dyno/internal/workload"
)

func TestConfigRefuses(t *testing.T) {
	f := func(c Config, mention string) {
		t.Helper()
		if _, _, err := c.Settle(); err == nil || !strings.Contains(err.Error(), mention) {
			t.Errorf("%+v: %v; want %q", c, err, mention)
		}
	}
	w := workload.PointSelect{}
	f(Config{}, "no workload")
	f(Config{Workload: w, Threads: -1}, "threads=-1")
	f(Config{Workload: w, Threads: 1e6}, "1 to 100000")
	f(Config{Workload: w, Time: -time.Second}, "time=-1s")
	f(Config{Workload: w, PSMode: "sometimes"}, "auto or disable")
	f(Config{Workload: w, Warmup: -time.Second}, "warmup-time=-1s")
	f(Config{Workload: w, RateKind: "normal"}, "poisson or uniform")
	f(Config{Workload: w, Threads: 4, Terminals: 3}, "terminals=3")
	f(Config{Workload: w, Terminals: 3, Rate: pace.Constant(1)}, "terminals=3: with a rate")
	f(Config{Workload: w, Loops: -1}, "loops=-1")
	f(Config{Workload: w, Options: map[string]string{"tabels": "3"}}, `did you mean "tables"?`)
}

func TestOptionsOfARun(t *testing.T) {
	c, p, err := Config{
		Workload: workload.PointSelect{}, Time: 1500 * time.Millisecond, Seed: 9,
		Ignore: []string{"1062", "1213"},
	}.Settle()
	if err != nil {
		t.Fatal(err)
	}
	o := c.options(p, someFamily{})
	f := func(name, want string) {
		t.Helper()
		if o[name] != want {
			t.Errorf("%s is %q, want %q", name, o[name], want)
		}
	}
	f("threads", "1")
	f("time", "1.5")
	f("rand-seed", "9")
	f("db-ps-mode", "auto")
	f("mysql-ignore-errors", "1020,1062,1205,1213,1412,1615")
	f("table-size", "10000")
	c.IgnoreAll = true
	if o := c.options(p, someFamily{}); o["mysql-ignore-errors"] != "all" {
		t.Errorf("mysql-ignore-errors is %q", o["mysql-ignore-errors"])
	}
	if _, ok := p.Options["threads"]; ok {
		t.Error("the plan's options were changed")
	}
}

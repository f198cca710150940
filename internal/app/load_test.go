package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/workload/script"
)

func TestScriptFilesHaveWeights(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	one, at := path("one.sql", "SELECT 1;\n"), path("b@home.sql", "SELECT 2;\n")
	w, err := Script([]string{one + "@3", at})
	if err != nil {
		t.Fatal(err)
	}
	s := w.(script.Workload).Scripts
	if len(s) != 2 || s[0].Weight != 3 || s[1].Weight != 1 {
		t.Errorf("weights %d and %d, want 3 and 1", s[0].Weight, s[1].Weight)
	}
	bad := func(file, want string) {
		t.Helper()
		if _, err := Script([]string{file}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", file, err, want)
		}
	}
	bad(filepath.Join(dir, "none.sql"), "read script")
	bad(path("bad.sql", "\\st id random(1, 2)\n"), "bad.sql:1:")
	if _, err := os.Stat("/dev/zero"); err == nil {
		bad("/dev/zero", "/dev/zero")
	}
}

func TestTableCacheIsForSandboxes(t *testing.T) {
	a := &App{Home: "/home"}
	if c := (Runs{a}).TableCache("sandbox:x"); c == nil || c.Dir != "/home/cache/tables" {
		t.Errorf("got %+v", c)
	}
	if c := (Runs{a}).TableCache("mysql://root@db"); c != nil {
		t.Errorf("the files of somebody else's server were to be touched: %+v", c)
	}
}

// TestKept: what has figures is kept, whatever ended it.
func TestKept(t *testing.T) {
	a := &App{Home: t.TempDir()}
	defer a.Close()
	tick := loadresult.Tick{
		At: time.Unix(1000, 0), Length: time.Second, Ops: []loadresult.Op{{Name: "op", Latency: hist.New()}},
	}
	failure := errors.New("the server is gone")
	f := func(operations int, err error, kept bool) {
		t.Helper()
		tick := tick
		tick.Ops = []loadresult.Op{{Name: "op", Latency: hist.New()}}
		for range operations {
			tick.Ops[0].Latency.Record(time.Millisecond)
		}
		seen := 0
		r, ticks, got := Runs{a}.kept(context.Background(), []string{"a note"}, func(loadresult.Tick) { seen++ },
			func(sink func(loadresult.Tick)) (loadresult.Run, error) {
				sink(tick)
				return loadresult.Run{
					Target: "db", Workload: "w", Started: tick.At, Elapsed: time.Second,
					Total: tick, State: loadresult.Done,
				}, err
			})
		if (r.ID != "") != kept || !errors.Is(got, err) || seen != 1 || len(ticks) != 1 || len(r.Warnings) != 1 {
			t.Errorf("%d operations, %v: id %q, error %v, %d ticks, notes %q", operations, err, r.ID, got,
				len(ticks), r.Warnings)
			return
		}
		if !kept {
			return
		}
		d, err := Reports{a}.Report(context.Background(), r.ID)
		if err != nil || d.Run.Total.Operations() != uint64(operations) {
			t.Errorf("read back: %+v, %v", d, err)
		}
	}
	f(3, nil, true)
	f(3, failure, true)
	f(0, nil, true)
	f(0, failure, false)
}

// TestExecLogsIn: a command is given the login as the programs of its server's family read it.
func TestExecLogsIn(t *testing.T) {
	f := func(url, login string) {
		t.Helper()
		spec, err := endpoint.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		spec.Password = endpoint.NewSecret("hush")
		r, _, err := Runs{&App{Home: t.TempDir()}}.Exec(t.Context(), load.ExecConfig{
			Command: `grep -qxF '` + login + `' "$DYNO_DEFAULTS_FILE"`, Server: spec, Events: 1,
		}, func(loadresult.Tick) {})
		if err != nil || r.Total.Operations() != 1 {
			t.Errorf("%s: %d operations, %v", url, r.Total.Operations(), err)
		}
	}
	f("mysql://u@db1:3306/shop", `password="hush"`)
	f("postgres://u@db1:5432/shop", "db1:5432:*:u:hush")
}

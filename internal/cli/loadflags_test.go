package cli

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/workload"
)

// lacking are the options of sysbench that Dyno does not have, and why.
var lacking = map[string]string{
	"version":       "dyno --version",
	"help":          "dyno load --help",
	"pgsql-db":      "it is --mysql-db, and understood",
	"pgsql-variant": "redshift is not known",
	"luajit-cmd":    "there is no Lua",
}

// otherDefaults are the options whose defaults differ, and why.
var otherDefaults = map[string]string{
	"mysql-ssl":       "over a network a connection is encrypted when the server can, as the mysql client does it",
	"report-interval": "a line each second: nobody likes to look at nothing for ten seconds",
}

// sysbenchOption matches a line of sysbench's help: the name, and the default in brackets at its end.
var sysbenchOption = regexp.MustCompile(`(?m)^ +--([a-z_-]+)[=\[ ].*?(?:\[([^\[\]]*)\])?$`)

func sysbenchHelp(t *testing.T, args ...string) [][]string {
	t.Helper()
	path, err := exec.LookPath("sysbench")
	if err != nil {
		t.Skip("there is no sysbench to read the help of")
	}
	out, _ := exec.CommandContext(t.Context(), path, args...).Output() // it ends with 1
	found := sysbenchOption.FindAllStringSubmatch(string(out), -1)
	if len(found) < 5 {
		t.Fatalf("sysbench %v: %d options found in\n%s", args, len(found), out)
	}
	return found
}

// TestSysbenchOptions reads sysbench's own help: whatever it takes, Dyno takes too, with the same default, but for what
// is listed above.
func TestSysbenchOptions(t *testing.T) {
	e := &env{app: &app.App{Environ: func(string) string { return "" }}}
	f := newLoadCommand(e).Flags()
	seen := map[string]bool{}
	for _, x := range sysbenchHelp(t, "--help") {
		name, def := string(normalName(nil, x[1])), x[2]
		seen[name] = true
		flag := f.Lookup(name)
		if flag == nil {
			if lacking[name] == "" {
				t.Errorf("sysbench has --%s", x[1])
			}
			continue
		}
		if lacking[name] != "" {
			t.Errorf("--%s is said to be lacking, but is there", name)
		}
		if _, ok := flag.Value.(*optionValue); ok || name != strings.ReplaceAll(x[1], "_", "-") {
			continue // of workloads, looked at below; or an older name
		}
		if flag.DefValue != def && otherDefaults[name] == "" {
			t.Errorf("--%s: sysbench's default is %q, Dyno's %q", name, def, flag.DefValue)
		}
	}
	for name := range otherDefaults {
		if !seen[name] {
			t.Errorf("--%s has another default than what sysbench does not have", name)
		}
	}
}

func TestSysbenchWorkloadOptions(t *testing.T) {
	for _, name := range []string{
		"oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select", "oltp_insert", "oltp_delete",
		"oltp_update_index", "oltp_update_non_index",
		"select_random_points", "select_random_ranges",
	} {
		w, err := app.Workload(name)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, x := range sysbenchHelp(t, name, "help") {
			option := strings.ReplaceAll(x[1], "_", "-")
			i := slices.IndexFunc(w.Options(), func(o workload.Option) bool { return o.Name == option })
			switch {
			case i < 0 && lacking[option] == "":
				t.Errorf("%s: sysbench has --%s", name, x[1])
			case i >= 0 && w.Options()[i].Default != x[2]:
				t.Errorf("%s --%s: sysbench's default is %q, Dyno's %q", name, option, x[2], w.Options()[i].Default)
			}
		}
	}
}

func parsed(t *testing.T, args ...string) (*loadFlags, *pflag.FlagSet, error) {
	t.Helper()
	var o loadFlags
	f := pflag.NewFlagSet("load", pflag.ContinueOnError)
	o.add(f)
	return &o, f, f.Parse(args)
}

func TestLoadConfig(t *testing.T) {
	w := workload.All()[0]
	good := func(want string, args ...string) {
		t.Helper()
		o, _, err := parsed(t, args...)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			return
		}
		c, err := o.config(w, nil)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			return
		}
		got := strings.Join([]string{c.Rate.String(), string(c.RateKind), c.Time.String(), c.Warmup.String()}, " ")
		if got != want {
			t.Errorf("%q: got %s, want %s", args, got, want)
		}
	}
	good("0 poisson 10s 0s")
	good("500 uniform 1m0s 5s", "--rate=500", "--rate_kind=uniform", "--time=60", "--warmup-time=5")
	good("200 poisson 3s 0s", "--tx-rate=200", "--max-time=3", "--max-requests=1K", "--num-threads=2")
	bad := func(want string, args ...string) {
		t.Helper()
		o, _, err := parsed(t, args...)
		if err == nil {
			_, err = o.config(w, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
	bad("column 1", "--rate=often")
	bad("poisson or uniform", "--rate-kind=normal")
	bad("whole number from 1 to 100", "--percentile=99.9")
	bad("auto or disable", "--db-ps-mode=on")
	bad("it takes mysql or pgsql", "--db-driver=oracle")
	bad("in ascending order", "--report-checkpoints=20,10")
	bad("at least as many", "--threads=1,8", "--terminals=4")
	bad("use one of them", "--terminals=4", "--rate=10")
	bad("when to give up", "--steady", "--time=0")
	bad("error numbers", "--mysql-ignore-errors=deadlocks")
	bad("sessions from 1", "--threads=0")
}

func TestIdleOptions(t *testing.T) {
	f := func(args []string, remark, refusal string) {
		t.Helper()
		var out strings.Builder
		e := &env{console: console{Streams: Streams{Err: &out}}}
		_, fs, err := parsed(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		err = remarkIdle(e, fs)
		if got := out.String(); (remark == "") != (got == "") || !strings.Contains(got, remark) {
			t.Errorf("%q: remark %q, want %q", args, got, remark)
		}
		if (refusal == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), refusal) {
			t.Errorf("%q: error %v, want %q", args, err, refusal)
		}
	}
	f(nil, "", "")
	f([]string{"--verbosity=3", "--db-debug=off", "--mysql-compression=off"}, "", "")
	f([]string{"--verbosity=0"}, "--verbosity has no effect", "")
	f([]string{"--thread_stack_size=32K"}, "--thread-stack-size has no effect", "")
	f([]string{"--mysql-compression"}, "", "never compressed")
	f([]string{"--mysql-ssl-cipher=X"}, "", "choose the cipher")
}

// TestLoadFlagErrors types what people mistype.
func TestLoadFlagErrors(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		var out, errs strings.Builder
		code := Run(context.Background(), append([]string{"load"}, args...), Streams{
			In:  strings.NewReader(""),
			Out: &out, Err: &errs,
		},
			func(k string) string { return map[string]string{"DYNO_HOME": t.TempDir()}[k] }, "test")
		if code != exitUsage || !strings.Contains(errs.String(), want) || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%q: code %d, %q, want %q", args, code, errs.String(), want)
		}
	}
	f(`did you mean "oltp_read_only"?`, "oltp_readonly", "run")
	f("did you mean script?", "scrpt", "run")
	f("`dyno load --help` lists them", "qqqqqqqqqqqq", "run")
	f("did you mean cleanup?", "oltp_read_only", "clenup")
	f("say what to do with oltp_read_only: prepare", "oltp_read_only")
	f("did you mean --threads?", "oltp_read_only", "run", "--thread=3")
	f("did you mean --point-selects?", "oltp_read_only", "run", "--point_select=3")
	f("list the options", "oltp_read_only", "run", "--qqqqqqqqqqqq=3")
	f("--threads x: it takes a number of sessions", "oltp_read_only", "run", "--threads=x")
	f("say which server", "oltp_read_only", "run")
	f("both say which server", "oltp_read_only", "run", "--target=a", "--mysql-host=b")
	f("take one server", "oltp_read_only", "run", "--mysql-host=a,b")
	f("take one server", "oltp_read_only", "run", "--pgsql-host=a,b")
	f("--pgsql-port 0: it takes a port", "oltp_read_only", "run", "--pgsql-port=0")
	f("a run has one server", "oltp_read_only", "run", "--pgsql-host=a", "--mysql-user=b")
	f("set PGPASSWORD", "oltp_read_only", "run", "--pgsql-host=a", "--pgsql-password=secret")
	f("a port from 1 to 65535", "oltp_read_only", "run", "--mysql-port=x")
	f("it takes off, on", "oltp_read_only", "run", "--mysql-host=a", "--mysql-ssl=perhaps")
	f("option table-size=many: takes a whole number", "oltp_read_only", "run", "--table-size=many")
	f("say which: --script FILE", "script", "run")
	f("no such file", "script", "run", "--script=/nowhere.sql")
	f("--script is for the workload script", "oltp_read_only", "run", "--script="+write(t, "f.sql", "SELECT 1;\n"))
	f("--command is for exec", "oltp_read_only", "run", "--command=true")
	f("say which: --command", "exec", "run")
	f("its steps are run and help", "exec", "prepare", "--command=true")
	f("exit statuses from 1 to 255", "exec", "run", "--command=true", "--mysql-ignore-errors=1213")
}

package script

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/workload"
)

func TestOptions(t *testing.T) {
	p := plan(t, map[string]string{"account_rows": "2K", "mysql-db": "d"},
		"\\option account_rows 1K how many\n\\option kind 'some text'\nSELECT :account_rows, :kind;")
	if p.Options["account-rows"] != "2000" || p.Options["kind"] != "some text" || p.Schema != "d" ||
		!strings.HasPrefix(p.Options["script"], "test.sql (crc32 ") {
		t.Errorf("options %v", p.Options)
	}
	if got := sent(t, p, p.Generator(1, 0)); got[0] != "SELECT 2000, 'some text'" {
		t.Errorf("%q", got)
	}
	s := parse(t, "\\option account_rows 1K how many\n\\option share 0.5\nSELECT 1;")
	o := (Workload{Scripts: []*Script{s}}).Options()
	if len(o) != 3 || o[1].Name != "account-rows" || o[1].Type != workload.Number || o[1].Default != "1000" ||
		o[1].Help != "how many" || o[2].Type != workload.Text {
		t.Errorf("%+v", o)
	}
	if plan(t, nil, "SELECT 1;").Schema != "" {
		t.Error("a script without mysql-db has a database of its own")
	}
}

func TestSeveralScripts(t *testing.T) {
	a := "\\option n 1\n\\set x :n\n\\transaction a\nA :x;"
	p := plan(t, map[string]string{"n": "5"}, a, "\\option n 1\n\\set y sequence()\n\\transaction b\nB :y, :n;")
	g := p.Generator(1, 0)
	seen := map[string]bool{}
	for range 20 {
		seen[strings.Join(sent(t, p, g), ";")] = true
	}
	if !seen["A 5"] || !seen["B 1, 5"] || !seen["B 2, 5"] {
		t.Errorf("%v", seen)
	}
	f := func(mention string, texts ...string) {
		t.Helper()
		var w Workload
		for _, text := range texts {
			w.Scripts = append(w.Scripts, parse(t, text))
		}
		if _, err := w.Build(nil); err == nil || !strings.Contains(err.Error(), mention) {
			t.Errorf("%q: %v; want %q", texts, err, mention)
		}
	}
	f("transaction a is there already", a, a)
	f("option n has the default 2 here and 1 at", a, "\\option n 2\nSELECT 1;")
	f("no file given")
	heavy := parse(t, a)
	heavy.Weight = -1
	if _, err := (Workload{Scripts: []*Script{heavy}}).Build(nil); err == nil {
		t.Error("a weight of -1 is accepted")
	}
	if _, err := (Workload{Scripts: []*Script{parse(t, a)}}).Build(map[string]string{"m": "1"}); err == nil ||
		!strings.Contains(err.Error(), "unknown") {
		t.Errorf("an unknown option: %v", err)
	}
}

func TestLargeScriptsAreRefused(t *testing.T) {
	if _, err := Parse("dump.sql", make([]byte, largest+1)); err == nil ||
		!strings.Contains(err.Error(), "dump.sql:1:1") {
		t.Errorf("%v", err)
	}
}

package main

import (
	"strings"
	"testing"
)

// all reads a whole stream of events.
func all(t *testing.T, stream string) (rs *results, stray string) {
	t.Helper()
	events, broken := make(chan event), make(chan error, 1)
	var b strings.Builder
	go func() { broken <- read(strings.NewReader(stream), events, &b) }()
	rs = newResults()
	for e := range events {
		rs.take(e)
	}
	if err := <-broken; err != nil {
		t.Fatal(err)
	}
	return rs, b.String()
}

// told runs the events of package p through results and says what came of it.
func told(t *testing.T, events string) (c count, faults, skipped []string, output string) {
	t.Helper()
	rs, _ := all(t, events)
	p := rs.packages["p"]
	if p == nil {
		t.Fatal("no package p")
	}
	c, fs, ss := rs.ended(p)
	for _, f := range fs {
		faults = append(faults, f.name)
		output += f.output
	}
	for _, s := range ss {
		skipped = append(skipped, s.name+": "+reason(s.output))
	}
	return c, faults, skipped, output
}

func TestEnded(t *testing.T) {
	f := func(events, closing, faults, skipped, output string) {
		t.Helper()
		c, fs, ss, out := told(t, events)
		if c.String() != closing || strings.Join(fs, "|") != faults || strings.Join(ss, "|") != skipped {
			t.Errorf("%s; faults %q; skipped %q\nwant %s; %q; %q", c, fs, ss, closing, faults, skipped)
		}
		if !strings.Contains(out, output) {
			t.Errorf("the output lacks %q:\n%s", output, out)
		}
	}
	end := `{"Action":"pass","Package":"p","Elapsed":1}` + "\n"
	bad := `{"Action":"fail","Package":"p","Elapsed":1}` + "\n"

	f(`{"Action":"pass","Package":"p","Test":"TestA"}`+"\n"+end, "1 passed, 0 failed", "", "", "")
	// A test that only holds others is not counted beside them.
	f(`{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA/y"}
{"Action":"pass","Package":"p","Test":"TestA"}
`+end, "2 passed, 0 failed", "", "", "")
	// The holder's own words are shown with the failure within, which counts once.
	f(`{"Action":"output","Package":"p","Test":"TestA","Output":"seed 7\n"}
{"Action":"fail","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA/y"}
{"Action":"fail","Package":"p","Test":"TestA"}
`+bad, "1 passed, 1 failed", "TestA|TestA/x|", "", "seed 7")
	// The holder fails although everything within passes.
	f(`{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
`+bad, "1 passed, 1 failed", "TestA|", "", "")
	// A skipped test is listed with its reason.
	f(`{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: no disk\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
`+end, "0 passed, 0 failed", "", "TestA: a_test.go:3: no disk", "")
	// It ran out of time or panicked: the test that did not end is the failure.
	f(`{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"panic: x\n"}
`+bad, "1 passed, 1 failed", "TestB|", "", "panic: x")
	// It failed, but no test did.
	f(`{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"exit status 3\n"}
`+bad, "1 passed, 1 failed", "failed outside its tests", "", "exit status 3")
	// It does not build.
	f(`{"Action":"build-output","ImportPath":"p [p.test]","Output":"a.go:1: undefined\n"}
{"Action":"build-fail","ImportPath":"p [p.test]"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`, "0 passed, 1 failed", "build failed", "", "a.go:1: undefined")
	// The whole run was stopped.
	f(`{"Action":"pass","Package":"p","Test":"TestA"}`, "1 passed, 1 failed", "did not finish", "", "")
}

func TestStrayLines(t *testing.T) {
	in := "go: cannot find module\n" + `{"Action":"pass","Package":"p"}` // no newline at the end
	rs, got := all(t, in)
	if got != "go: cannot find module\n" {
		t.Errorf("stray lines are %q", got)
	}
	if rs.packages["p"] == nil || rs.packages["p"].end != "pass" {
		t.Error("the last line was lost")
	}
}

func TestTable(t *testing.T) {
	rs, _ := all(t, `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":2.5}
{"Action":"pass","Package":"q","Test":"TestA","Elapsed":70}
{"Action":"pass","Package":"q","Elapsed":71}
{"Action":"pass","Package":"r","Test":"TestA"}
{"Action":"pass","Package":"r","Elapsed":0.5}
{"Action":"pass","Package":"empty"}
`)
	got := strings.Join(rs.table(), "\n")
	if want := "    71.0 s     1  q\n     2.5 s     1  p\n     0.5 s        1 others"; got != want {
		t.Errorf("%s", got)
	}
	if got := rs.slowest(1); len(got) != 1 || !strings.HasSuffix(got[0], "q TestA") {
		t.Errorf("%q", got)
	}
}

package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/internal/recipe"
	"dyno/internal/store/trials"
)

// TestResumeWithOthers goes on with an experiment with options that it was not begun with: that is a usage error. With those that it was
// begun with it only fails later, for its server is not there.
func TestResumeWithOthers(t *testing.T) {
	r, err := recipe.Find("threads")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	begin := func(id string, h trials.Header) {
		t.Helper()
		h.ID, h.Started = id, time.Now()
		d, err := trials.Create(filepath.Join(home, "experiments", id), h)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	const nowhere = "/nowhere/mysqld"
	begin("x-1", trials.Header{
		Plan: string(r.Text), Scale: "medium", Axes: map[string][]string{"threads": {"1", "2"}}, Set: map[string]string{"trials.time": "20s", "server": nowhere},
	})
	begin("x-2", trials.Header{Plan: "dyno_plan: 1\nname: mine\nserver: " + nowhere + "\nworkload: oltp_read_only\n"})
	f := func(code int, want, args string) {
		t.Helper()
		var out, said bytes.Buffer
		got := Run(t.Context(), strings.Fields(args), Streams{In: strings.NewReader(""), Out: &out, Err: &said}, func(k string) string {
			return map[string]string{"DYNO_HOME": home, "HOME": home}[k]
		}, "test")
		if got != code || !strings.Contains(said.String(), want) || out.Len() > 0 {
			t.Errorf("%s: exit %d, want %d\n%swant %q\n%s", args, got, code, said.String(), want, out.String())
		}
	}
	f(1, nowhere, "compare --resume x-1")
	f(1, nowhere, "compare --resume x-1 --scale medium --set trials.time=20s --axis threads=1,2")
	f(2, "resume x-1: it was begun with --set trials.time=20s, not with --set trials.time=5s: leave that out", "compare --resume x-1 --set trials.time=5s")
	f(2, "begun without it, not with --set trials.margin=5%", "compare --resume x-1 --set trials.margin=5%")
	f(2, "begun with --axis threads=1,2, not with --axis threads=1,4", "compare --resume x-1 --axis threads=1,4")
	f(2, "begun with --scale medium, not with --scale small", "compare --resume x-1 --scale small")
	f(2, "begun without it, not with --scale small; it was begun without it, not with --axis threads=1", "compare --resume x-2 --scale small --axis threads=1")
	f(1, nowhere, "recipe run threads --resume x-1")
	f(1, nowhere, "recipe run threads --resume x-1 --scale medium")
	f(2, "not with --scale small", "recipe run threads --resume x-1 --scale small")
	f(2, "resume x-1: it is of threads, not of the recipe charset; `dyno compare --resume x-1` goes on", "recipe run charset --resume x-1")
	f(2, "it is of mine, not of the recipe threads", "recipe run threads --resume x-2")
	f(1, nowhere, "compare --resume x-2")
}

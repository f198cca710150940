package testbed

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/plan"
)

// TestStartThatFailsAfterARestore: a server that has written before it was killed leaves nothing to the next trial that
// begins with restored data.
func TestStartThatFailsAfterARestore(t *testing.T) {
	s := newStand(t)
	// what the server does before it answers; its settings stay the same
	file := filepath.Join(filepath.Dir(s.Yard.Home), "first.sql")
	first := func(lines ...string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	first("SELECT 1;")
	p, vs := parse(t, `
server: mariadb
settings: {innodb_buffer_pool_size: 32M, init_file: `+file+`}
data: {sql: ["CREATE TABLE mark (at INT NOT NULL) ENGINE=InnoDB"]}
before: [{sql: "INSERT INTO mark VALUES (1)"}]
read: {marks: "SELECT COUNT(*) FROM mark"}
trials: {rounds: 1..1, control: false, fresh: data}
`)
	if tr := s.must(t, vs[0], p); tr.Values["marks"] != 1 {
		t.Fatalf("%v marks", tr.Values["marks"])
	}

	done := filepath.Join(s.current.box.Dir, "files", "done")
	first("INSERT INTO lab.mark VALUES (2);", "COMMIT;", "SELECT 1 INTO OUTFILE '"+done+"';", "DO SLEEP(600);")
	killed := make(chan bool)
	go func() {
		ok := false
		for end := time.Now().Add(time.Minute); !ok && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if _, err := os.Stat(done); err != nil {
				continue
			}
			box, err := s.Yard.Find(t.Context(), "t-1")
			ok = err == nil && box.PID != 0 && syscall.Kill(box.PID, syscall.SIGKILL) == nil
		}
		killed <- ok
	}()
	_, err := s.Trial(t.Context(), vs[0], p, false, nil)
	var u *experiment.Unusable
	if ok := <-killed; !ok || !errors.As(err, &u) {
		t.Fatalf("killed before it answered: %v, %v", ok, err)
	}

	first("SELECT 1;")
	if tr := s.must(t, vs[0], p); tr.Values["marks"] != 1 {
		t.Errorf("%v marks: one is of the server that was killed", tr.Values["marks"])
	}
}

// TestAdjust: where the kernel places the server, CPUs that one variant has given it are taken back for one that has
// none.
func TestAdjust(t *testing.T) {
	s := newStand(t)
	allowed, err := host.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	last := allowed[len(allowed)-1:]
	p, vs := parse(t, `
server: mariadb
settings: {innodb_buffer_pool_size: 32M}
placement: free
axes:
  - name: where
    levels:
      - {name: anywhere}
      - {name: there, cpus: "`+strconv.Itoa(last[0])+`"}
probe: [{name: q, sql: SELECT 1}]
trials: {rounds: 3..3}
`)
	if p.Trials.Fresh != plan.FreshNone {
		t.Fatalf("fresh is %q", p.Trials.Fresh)
	}
	pid := 0
	f := func(i int, want []int) {
		t.Helper()
		s.must(t, vs[i], p)
		if pid == 0 {
			pid = s.current.box.PID
		}
		got, err := host.Affinity(s.current.box.PID)
		if err != nil || !slices.Equal(got, want) || s.current.box.PID != pid {
			t.Errorf("%s: process %d runs on CPUs %v, want %d on %v: %v", vs[i].Key, s.current.box.PID, got, pid, want,
				err)
		}
	}
	f(1, last)
	f(0, allowed)
	f(1, last)
}

package history

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
)

// TestMain turns the test program into one that writes until it is killed, when told so.
func TestMain(m *testing.M) {
	if path := os.Getenv("DYNO_TEST_HISTORY_CHILD"); path != "" {
		if err := child(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child puts states and classes and names each when it was put.
func child(path string) error {
	ctx := context.Background()
	h, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	go h.Run(ctx, func(err error) { fmt.Fprintln(os.Stderr, err); os.Exit(1) })
	now := time.Now()
	for i := 0; ; i++ {
		at := now.Add(time.Duration(i) * time.Millisecond)
		if err := h.PutState(aState("shop", at)); err != nil {
			return err
		}
		if i%50 == 0 {
			from := now.Add(time.Duration(i) * time.Second)
			if err := h.PutClasses(ctx, fmt.Sprint(os.Getpid()), from, from.Add(50*time.Second),
				[]class.Class{a(1, 1, 1)}); err != nil {
				return err
			}
			fmt.Println("classes", from.UnixMilli())
			if err := h.Maintain(ctx, now.Add(time.Hour)); err != nil { // packs all the time
				return err
			}
		}
		fmt.Println("state", at.UnixMilli(), time.Now().UnixMilli())
		time.Sleep(2 * time.Millisecond)
	}
}

// TestKill kills a process that writes, and looks for what it had put.
func TestKill(t *testing.T) {
	path := file(t)
	lost := 0
	for round := range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "DYNO_TEST_HISTORY_CHILD="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		ok(t, err)
		ok(t, cmd.Start())
		var states, classes []int64
		var said []int64 // when
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var at, when int64
			switch f := strings.Fields(lines.Text()); f[0] {
			case "state":
				fmt.Sscan(f[1]+" "+f[2], &at, &when)
				states, said = append(states, at), append(said, when)
			case "classes":
				fmt.Sscan(f[1], &at)
				classes = append(classes, at)
			}
			if len(states) == 300+round*77 {
				ok(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait() // "signal: killed"
		r, err := Check(t.Context(), path)
		if err != nil || !r.OK() {
			t.Fatalf("round %d: %+v, %v", round, r, err)
		}
		h := mustOpen(t, path, Options{})
		kept := map[int64]bool{}
		ts, err := h.StateTimes(t.Context(), "shop", time.UnixMilli(states[0]), time.UnixMilli(states[len(states)-1]),
			0)
		ok(t, err)
		for _, at := range ts {
			kept[at.UnixMilli()] = true
		}
		end := said[len(said)-1]
		for i, at := range states {
			if kept[at] {
				continue
			}
			lost++
			if end-said[i] > 2000 {
				t.Errorf("round %d: a state put %d ms before the end is lost", round, end-said[i])
			}
		}
		for _, at := range classes { // these were on their way to the disk when the call returned
			var n int
			ok(t, h.db.QueryRow("SELECT count(*) FROM win WHERE level = 60 AND at = ?", at).Scan(&n))
			if n != 1 {
				t.Errorf("round %d: classes of %d are lost", round, at)
			}
		}
		ok(t, h.Close())
	}
	t.Logf("%d of the last states lost", lost)
}

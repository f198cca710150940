package trials

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"dyno/internal/trial"
)

// TestMain lets a test run this binary as the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("DYNO_TEST_TRIALS_CHILD"); dir != "" {
		if err := child(dir); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child goes on with the experiment, keeps trials without end, and prints each that was acknowledged.
func child(dir string) error {
	d, err := Open(dir)
	if err != nil {
		return err
	}
	if len(d.Warnings()) > 0 {
		return fmt.Errorf("warnings: %q", d.Warnings())
	}
	last, err := strconv.Atoi(os.Getenv("DYNO_TEST_TRIALS_LAST"))
	if err != nil {
		return err
	}
	x := full(1)
	x.Env = nil // half of the bytes, and little that is new
	for seq := last + 1; ; seq++ {
		x.Seq = seq
		if err := d.Put(context.Background(), x); err != nil {
			return err
		}
		fmt.Println(seq)
		if seq%5 == 0 {
			if err := d.PutResult(trial.Result{Format: 1, Trials: []trial.Trial{x}}); err != nil {
				return err
			}
		}
	}
}

// TestKill kills a process that keeps trials, at random moments, many times on the same experiment.
func TestKill(t *testing.T) {
	d := create(t)
	dir := d.Path()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	acked := 0
	rounds := 10
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "DYNO_TEST_TRIALS_CHILD="+dir, fmt.Sprint("DYNO_TEST_TRIALS_LAST=", acked))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // most are dead by then
			_ = cmd.Wait()
		})
		n, stop := 0, 1+rnd.IntN(5)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			seq, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Fatalf("round %d: child says %q", round, lines.Text())
			}
			acked = seq
			if n++; n == stop {
				time.Sleep(time.Duration(rnd.IntN(3000)) * time.Microsecond)
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // "signal: killed"
		if n < stop {
			t.Fatalf("round %d: child ended after %d of %d", round, n, stop)
		}
		d, err := Open(dir)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		ts := all(t, d)
		if len(ts) < acked || len(ts) > acked+1 || len(d.Warnings()) > 0 {
			t.Fatalf("round %d: %d trials on disk, %d acknowledged, warnings %q", round, len(ts), acked, d.Warnings())
		}
		for i, x := range ts {
			if x.Seq != i+1 || len(x.Seconds) != 60 || x.Latency.Count() != 70_000 {
				t.Fatalf("round %d: trial %d is not what was put", round, i+1)
			}
		}
		if _, _, err := d.Result(); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		acked = len(ts)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

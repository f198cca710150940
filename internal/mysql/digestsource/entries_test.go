package digestsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/logdigest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// TestEntriesAreThoseOfFiles compares what entry by entry gives with what digesting the same logs does.
func TestEntriesAreThoseOfFiles(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	var paths []string
	for i := range 3 {
		var w written
		w.random(rng, 300, at.Add(time.Duration(2-i)*time.Hour)) // the latest first
		paths = append(paths, filepath.Join(dir, fmt.Sprint(i)))
		if err := os.WriteFile(paths[i], w.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths = append(paths, filepath.Join(dir, "missing"))
	for _, size := range []int{0, 4 << 10} {
		o := LogOptions{Paths: paths, PieceSize: size, Workers: 1}
		x, err := OpenEntries(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		sum := logdigest.New(logdigest.Config{})
		var last int64
		n := uint64(0)
		for e := (slowlog.Entry{}); ; n++ {
			if err := x.Next(&e); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			sum.Add(x.slow, &e, x.file)
			if e.At != 0 && e.At < last-int64(time.Hour/time.Microsecond) {
				t.Fatalf("an entry of %v comes after one of %v", time.UnixMicro(e.At), time.UnixMicro(last))
			}
			last = max(last, e.At)
		}
		res, skipped, skips := x.Close()
		files, filesResult, err := Files(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		a, b := sum.Report(digest.Options{}), files.Report(digest.Options{Files: filesResult.Files})
		if a.Global.Count != b.Global.Count || a.Global.Classes != b.Global.Classes ||
			a.Global.Attributes["query_time"].Sum != b.Global.Attributes["query_time"].Sum {
			t.Errorf("%d statements of %d classes that took %v, want %d of %d that took %v", a.Global.Count,
				a.Global.Classes, a.Global.Attributes["query_time"].Sum,
				b.Global.Count, b.Global.Classes, b.Global.Attributes["query_time"].Sum)
		}
		if skips != b.Global.Skipped || fmt.Sprint(skipped) != fmt.Sprint(b.Skipped) ||
			fmt.Sprint(res.Files) != fmt.Sprint(filesResult.Files) || res.Failed != filesResult.Failed {
			t.Errorf("%d skipped: %v, %+v; want %d: %v, %+v", skips, skipped, res, b.Global.Skipped,
				b.Skipped, filesResult)
		}
	}
}

func TestEntriesRefuses(t *testing.T) {
	f := func(want string, paths ...string) {
		t.Helper()
		x, err := OpenEntries(t.Context(), LogOptions{Paths: paths})
		if err == nil {
			x.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", paths, err, want)
		}
	}
	f("no log to read")
	f("no such file", filepath.Join(t.TempDir(), "missing"))
	f("directory", t.TempDir())
}

// TestEntriesEndWithTheirContext waits for a pipe that stays silent.
func TestEntriesEndWithTheirContext(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	var log written
	for i := range 50 {
		log.entry(at.Add(time.Duration(i)*time.Second), 1000, "", "SELECT 1")
	}
	go func() { _, _ = w.Write(log.Bytes()) }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(50*time.Millisecond, cancel)
	x, err := OpenEntries(ctx, LogOptions{Paths: []string{"-"}, Stdin: r})
	if err == nil {
		for e := (slowlog.Entry{}); err == nil; {
			err = x.Next(&e)
		}
		x.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

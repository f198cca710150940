//go:build bench

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestObserveTargets records a minute of real servers under a little work, then watches TARGETS of them at once: two
// are real, the others are the recordings, each beginning elsewhere. All are kept in one store. It prints missed
// seconds, CPU and memory of the whole.
func TestObserveTargets(t *testing.T) {
	n := count(t, "TARGETS")
	if n < 1 {
		t.Skip("not requested")
	}
	length, warm := setting(t, "FOR"), setting(t, "WARM")
	s := servers.Start(t, "mariadb", "performance_schema=ON")
	fill(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	work := make(chan struct{})
	go func() {
		defer close(work)
		db := s.DB(t, "d")
		for i := 0; ctx.Err() == nil; i++ {
			// the end of ctx breaks one off
			db.ExecContext(ctx, fmt.Sprintf("INSERT INTO t%d (a) VALUES (%d)", i%50, i))
			time.Sleep(10 * time.Millisecond)
		}
	}()
	recording := record(t, s, 30)
	sampled := 0
	for _, r := range recording {
		sampled += len(r.Samples)
	}
	store, err := series.Open(filepath.Join(t.TempDir(), "series"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	targets := map[string]scraper{}
	meter := scrape.NewMeter()
	for i := range min(2, n) {
		sc, err := sources.New(reach(t, s), scrape.Options{Meter: meter})
		if err != nil {
			t.Fatal(err)
		}
		defer sc.Close()
		targets["real"+strconv.Itoa(i)] = sc
	}
	for i := len(targets); i < n; i++ {
		targets["recorded"+strconv.Itoa(i)] = &replay{recording, i % len(recording)}
	}
	var mu sync.Mutex
	rounds, missed, samples := 0, 0, 0
	last := map[string]time.Time{}
	late := []float64{}
	run, stop := context.WithTimeout(ctx, warm+length)
	defer stop()
	began := time.Now().Add(warm) // making a few hundred thousand series new takes its time once
	var before time.Duration
	var first sync.Once
	err = scrapeAll(run, time.Second, targets, func(r reading.Reading) {
		err := store.AppendRound(r)
		if time.Now().Before(began) {
			return
		}
		first.Do(func() { before = own(t) })
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Errorf("%s: %v", r.Target, err)
		}
		rounds++
		samples += len(r.Samples)
		if p, ok := last[r.Target]; ok {
			missed += int(r.At.Sub(p)/time.Second) - 1
		}
		last[r.Target] = r.At
		late = append(late, time.Since(r.At).Seconds()*1000)
	})
	if err != nil {
		t.Fatal(err)
	}
	sec := time.Since(began).Seconds()
	used := own(t) - before
	cancel()
	<-work
	slices.Sort(late)
	fmt.Printf("\n%d targets for %v: %d rounds, %d seconds missed; %d samples a target and second in the recording, "+
		"%.0f a second in all\n", n, length, rounds, missed, sampled/len(recording), float64(samples)/sec)
	fmt.Printf("kept after the second's begin: median %.0f ms, 99 of 100 within %.0f ms, all within %.0f ms\n",
		late[len(late)/2], late[len(late)*99/100], late[len(late)-1])
	fmt.Printf("CPU %.2f of %s cores; resident at most %.0f MB\n", used.Seconds()/sec, cores(), peak(t)/1e6)
	if missed > 0 || rounds < n*int(sec-2) {
		t.Errorf("%d seconds were missed in %d rounds of %d targets over %.0f s", missed, rounds, n, sec)
	}
}

func reach(t *testing.T, s *servers.Server) *target.Target {
	t.Helper()
	spec, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tg.Close() })
	return tg
}

// record keeps so many rounds of a server.
func record(t *testing.T, s *servers.Server, rounds int) (out []reading.Reading) {
	t.Helper()
	sc, err := sources.New(reach(t, s), scrape.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := sc.Run(ctx, time.Second, func(r reading.Reading) {
		r.Samples = slices.Clone(r.Samples)
		if out = append(out, r); len(out) == rounds {
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// own returns the CPU time of this program.
func own(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak returns the most memory that this program had resident, bytes.
func peak(t *testing.T) float64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb * 1024
}

func cores() string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "?"
	}
	_, rest, _ := strings.Cut(string(b), "Cpus_allowed_list:")
	return "CPUs " + strings.Fields(rest)[0]
}

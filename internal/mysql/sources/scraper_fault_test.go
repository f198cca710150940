package sources

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestAHungServerIsAGap stops the server's process for a while: its figures end, those of the machine go on, and
// afterwards the gap is told with its ends.
func TestAHungServerIsAGap(t *testing.T) {
	s := servers.Start(t, "mariadb")
	sc := scraper(t, open(t, s, "root"), scrape.Options{
		Sources: []string{"host", "global_status", "variables"}, Timeout: 100 * time.Millisecond,
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	signal := func(sig syscall.Signal) {
		if err := syscall.Kill(s.PID, sig); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { syscall.Kill(s.PID, syscall.SIGCONT) })
	phase, silent := 0, 0
	var stopped time.Time
	var gap *event.Event
	err := sc.Run(ctx, 200*time.Millisecond, func(r reading.Reading) {
		_, up := find(r.Samples, "mysql_global_status_uptime")
		switch phase {
		case 0:
			if up {
				signal(syscall.SIGSTOP)
				stopped = r.At
				phase = 1
			}
		case 1:
			if x := sourceOf(t, r.Sources, "global_status"); x.State == source.Slow {
				if _, ok := find(r.Samples, "node_load1"); !ok {
					t.Error("the machine hangs too")
				}
				if silent++; silent == 3 {
					signal(syscall.SIGCONT)
					phase = 2
				}
			}
		case 2:
			for _, e := range r.Events {
				if strings.Contains(e.Text, "did not answer") {
					gap = &e
				}
			}
			if up && gap != nil {
				cancel()
				phase = 3
			}
		}
	})
	if err != nil || phase != 3 {
		t.Fatalf("ended in phase %d: %v", phase, err)
	}
	if gap.Kind != event.Down || !gap.At.After(stopped) || !gap.Until.After(gap.At) {
		t.Errorf("stopped after %v: %+v", stopped, gap)
	}
}

// TestPrivilegesThatShrink takes a privilege away under a running scraper, whose connection keeps it until it is a new
// one, and gives it back.
func TestPrivilegesThatShrink(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE USER w@localhost", "GRANT PROCESS ON *.* TO w@localhost")
			sc := scraper(t, open(t, s, "w"), scrape.Options{Sources: []string{"global_status", "innodb_metrics"}})
			want := func(state source.State, fix string) {
				t.Helper()
				r := sc.Once(t.Context())
				if x := sourceOf(t, r.Sources, "innodb_metrics"); x.State != state || x.Fix != fix {
					t.Errorf("%+v, want %s %q", x, state, fix)
				}
				if x := sourceOf(t, r.Sources, "global_status"); x.State != source.OK {
					t.Errorf("%+v", x)
				}
			}
			want(source.OK, "")
			s.Exec(t, "REVOKE PROCESS ON *.* FROM w@localhost")
			sc.link.Close() // as a network does
			want(source.Denied, "GRANT PROCESS ON *.* TO 'w'@'localhost'")
			s.Exec(t, "GRANT PROCESS ON *.* TO w@localhost")
			sc.link.Close()
			want(source.OK, "")
		})
	}
}

// halting is a heavy source whose server hangs once it was read.
type halting struct {
	l   *link
	pid int
}

func (halting) Name() source.Name { return "halting" }
func (h halting) Scrape(ctx context.Context, _ int64, _ func(metric.Sample)) error {
	_, err := h.l.Query(ctx, "SELECT 1", func([]driver.Value) {})
	return errors.Join(err, syscall.Kill(h.pid, syscall.SIGSTOP))
}

// TestTheLastQuestionOfALaneEnds: that a connection asks what it has counted has the time of a source, and no more.
func TestTheLastQuestionOfALaneEnds(t *testing.T) {
	s := servers.Start(t, "mariadb")
	t.Cleanup(func() { syscall.Kill(s.PID, syscall.SIGCONT) })
	p := partsOf(open(t, s, "root"))
	heavy := p.Heavy.(*link)
	if err := heavy.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Entries = []scrape.Entry{{Traits: scrape.Traits{Cost: scrape.Heavy}, Source: halting{heavy, s.PID}}}
	sc, err := scrape.New(p, scrape.Options{Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		sc.Once(t.Context())
		sc.Close()
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("heavy sources are not read any more")
	}
}

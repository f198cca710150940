package digest_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestFollowKilled follows the log of a real server that writes all the time and is rotated under way, with Dyno killed
// again and again. In the end every statement is counted exactly once: as many as the whole log has, and as the server
// says it has logged.
func TestFollowKilled(t *testing.T) {
	everywhere(t, func(t *testing.T, l *logger) {
		l.do(t, tables...)
		l.watched(t)
		logged := l.status(t, "Slow_queries")
		stop := make(chan struct{})
		var writers sync.WaitGroup
		for i := range 2 {
			c := l.session(t, "root", "d1")
			writers.Go(func() {
				writer(t, c, i, stop)
				c.Close()
			})
		}
		state := filepath.Join(t.TempDir(), "state")
		r := rand.New(rand.NewPCG(5, 5))
		var rotated []string
		for i := range 10 {
			f := follow(t, "--state", state, l.log)
			if i == 0 {
				f.until(t, func(r report) bool { // else nobody knows of the log that is rotated first
					_, err := os.Stat(state)
					return err == nil
				})
			}
			time.Sleep(time.Duration(50+r.IntN(2000)) * time.Millisecond) // when it is killed must not matter
			if i%4 == 2 {
				old := fmt.Sprintf("%s.%d", l.log, i)
				if err := os.Rename(l.log, old); err != nil {
					t.Error(err)
				}
				l.do(t, "FLUSH SLOW LOGS")
				rotated = append(rotated, old)
				time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
			}
			f.kill()
		}
		close(stop)
		writers.Wait()
		l.alone(t)
		logged = l.status(t, "Slow_queries") - logged
		want := digest(t, 0, append(rotated, l.log)...)
		f := follow(t, "--state", state, l.log)
		f.until(t, func(r report) bool { return r.Global.Entries >= want.Global.Entries })
		got := f.stop(t)
		if got.Global.Entries != want.Global.Entries || want.Global.Entries != logged {
			t.Errorf("%d entries followed, %d in the logs, the server counts %d", got.Global.Entries,
				want.Global.Entries, logged)
		}
		counts := map[string]uint64{}
		for _, c := range got.Classes {
			counts[c.ID] = c.Count
		}
		for _, c := range want.Classes {
			if counts[c.ID] != c.Count {
				t.Errorf("%s %q: %d followed, %d in the logs", c.ID, cut(c.Fingerprint), counts[c.ID], c.Count)
			}
			delete(counts, c.ID)
		}
		if len(counts) > 0 {
			t.Errorf("classes that are in no log: %v", counts)
		}
		if got.Global.Skipped != 0 {
			t.Errorf("%d parts skipped: %+v", got.Global.Skipped, got.Skipped)
		}
	})
}

// writer runs statements until told to stop.
func writer(t *testing.T, c *sql.Conn, n int, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
		}
		for _, q := range []string{
			"SELECT a FROM t1 WHERE id = %d", "INSERT INTO t2 (a, b) VALUES (%d, 'text\nof two lines')",
			"SELECT COUNT(*) FROM t2 WHERE a = %d",
		} {
			rows, err := c.QueryContext(t.Context(), fmt.Sprintf(q, i*2+n))
			if err != nil {
				t.Error(err)
				return
			}
			drain(rows)
			rows.Close()
		}
	}
}

// TestFollowCopyTruncate has the log cut to nothing once it was read, as logrotate's copytruncate does, half of the
// times while nobody follows. What a killed program had read but not yet saved is then in the copy alone.
func TestFollowCopyTruncate(t *testing.T) {
	needProgram(t)
	dir := t.TempDir()
	log, state := filepath.Join(dir, "slow.log"), filepath.Join(dir, "state")
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f := follow(t, "--state", state, log)
	n := 0
	for i := range 6 {
		if _, err := file.WriteString(steady(n, 100+i)); err != nil {
			t.Fatal(err)
		}
		n += 100 + i
		f.until(t, func(r report) bool { return r.Global.Entries == uint64(n) })
		if i%2 == 1 {
			f.kill()
			b, err := os.ReadFile(log)
			if err == nil {
				err = os.WriteFile(log+".1", b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := file.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			f = follow(t, "--state", state, log)
		}
	}
	f.until(t, func(r report) bool { return r.Global.Entries == uint64(n) })
	if got := f.stop(t); got.Global.Entries != uint64(n) {
		t.Errorf("%d entries, want %d", got.Global.Entries, n)
	}
}

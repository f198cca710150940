package digestsource

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestFollowServer follows the slow log of a real server across FLUSH SLOW LOGS.
func TestFollowServer(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "slow.log")
			s := servers.Start(t, flavor, "slow_query_log=1", "long_query_time=0", "slow_query_log_file="+path)
			db := s.DB(t, "")
			db.SetMaxOpenConns(1)
			ran := uint64(0)
			run := func(n int) {
				for range n {
					ran++
					if _, err := db.Exec(fmt.Sprintf("DO %d + 0 /* counted */", ran)); err != nil {
						t.Error(err)
					}
				}
			}
			counted := func(u Update) (n uint64, seen []string) {
				for _, c := range u.Total.Report(digest.Options{}).Classes {
					seen = append(seen, c.Fingerprint)
					if strings.HasPrefix(c.Fingerprint, "do ") {
						n += c.Count
					}
				}
				return n, seen
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			step, got, seen := 0, uint64(0), []string(nil)
			o := FollowOptions{
				State: filepath.Join(dir, "state"), Poll: 5 * time.Millisecond,
				Every: 20 * time.Millisecond, Settle: 300 * time.Millisecond,
			}
			_, _, err := Follow(ctx, path, o, func(u Update) error {
				got, seen = counted(u)
				switch step++; {
				case step < 10:
					run(20)
				case step == 10, step == 20:
					if err := os.Rename(path, fmt.Sprint(path, ".", step)); err != nil {
						return err
					}
					run(20) // the server still writes to the old file
					if _, err := db.Exec("FLUSH SLOW LOGS"); err != nil {
						return err
					}
				case step < 30:
					run(5)
				case got == ran:
					cancel()
				}
				return nil
			})
			if err != nil || got != ran {
				t.Fatalf("%d statements counted, %d ran, %v; %v", got, ran, err, seen)
			}
		})
	}
}

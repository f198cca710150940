//go:build bench

package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRestoreTime measures what a trial on restored data costs before its server answers: a data set of 1 GB, of whose
// pages a load changed one in twenty and wrote them to disk.
func TestRestoreTime(t *testing.T) {
	ctx := context.Background()
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			began := time.Now()
			settings := map[string]string{"innodb_buffer_pool_size": "1500M", "innodb_flush_log_at_trx_commit": "0"}
			y, sum := prepared(t, flavor, 1<<22, settings)
			d, _ := y.HasData("k")
			t.Logf("%s@%s: %d files, %d MB; prepared and saved in %v", d.Flavor, d.Version, d.Files,
				d.Size>>20, time.Since(began))
			began = time.Now()
			s := up(t, y, Config{Name: "a", Data: "k", Settings: settings})
			t.Logf("first up, with the copy: %v", time.Since(began))
			var total, restore, kill, start, flush []time.Duration
			for i := range 10 {
				db := open(t, s)
				run(t, db, "SET GLOBAL innodb_io_capacity_max = 20000", "SET GLOBAL innodb_io_capacity = 20000",
					"SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0.001", "SET GLOBAL innodb_max_dirty_pages_pct = 0",
					fmt.Sprintf("UPDATE s.t SET c = REVERSE(c) WHERE id %% 2000 < 100 AND id %% 10 < 5 + %d", i%2))
				for end := time.Now().Add(15 * time.Second); ; time.Sleep(100 * time.Millisecond) {
					n, _ := strconv.Atoi(value(t, db, "SELECT variable_value FROM "+statusTable(flavor)+
						" WHERE variable_name = 'Innodb_buffer_pool_pages_dirty'"))
					if n < 100 || time.Now().After(end) {
						break
					}
				}
				db.Close()
				before := used(t)
				t0 := time.Now()
				if err := y.Kill(ctx, "a"); err != nil {
					t.Fatal(err)
				}
				t1 := time.Now()
				r, err := y.RestoreData(ctx, "a", nil)
				if err != nil {
					t.Fatal(err)
				}
				t2, cpu := time.Now(), used(t)
				f, err := y.FlushData(ctx, "a")
				if err != nil {
					t.Fatal(err)
				}
				t3 := time.Now()
				s = up(t, y, Config{Name: "a"})
				t4 := time.Now()
				t.Logf("kill %v, restore %v, %v of CPU (%d MB written, %d MB punched, %d files), flush %v, up %v",
					t1.Sub(t0), t2.Sub(t1), cpu-before, r.Written>>20, r.Punched>>20, r.Changed, f, t4.Sub(t3))
				kill, restore, flush, start = append(kill, t1.Sub(t0)), append(restore, t2.Sub(t1)), append(flush, f),
					append(start, t4.Sub(t3))
				total = append(total, t4.Sub(t0)-f)
				if i == 0 && checksum(t, open(t, s), "s.t") != sum {
					t.Fatal("not restored")
				}
			}
			for _, x := range []struct {
				what string
				d    []time.Duration
			}{{"kill", kill}, {"restore", restore}, {"up", start}, {"total", total}, {"flush", flush}} {
				slices.Sort(x.d)
				t.Logf("%-8s median %v, max %v", x.what, x.d[len(x.d)/2].Round(time.Millisecond),
					x.d[len(x.d)-1].Round(time.Millisecond))
			}
		})
	}
}

// used returns the CPU time of this process.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func statusTable(flavor string) string {
	if flavor == "mysql" {
		return "performance_schema.global_status"
	}
	return "information_schema.global_status"
}

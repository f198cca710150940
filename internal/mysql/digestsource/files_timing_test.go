package digestsource

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// verbose writes an entry as Percona Server does with log_slow_verbosity=full: some 600 bytes.
func (w *written) verbose(t time.Time, micros int64, db, sql string) {
	n := w.entries
	fmt.Fprintf(w, "# Time: %s\n# User@Host: app[app] @ web%d [10.0.0.%d]  Id: %5d\n",
		t.Format("2006-01-02T15:04:05.000000Z"), n%3, n%3, n%97)
	fmt.Fprintf(w, "# Schema: %s  Last_errno: 0  Killed: 0\n", db)
	fmt.Fprintf(w, "# Query_time: %d.%06d  Lock_time: 0.0000%02d  Rows_sent: %d  Rows_examined: %d  Rows_affected: 0 "+
		" Bytes_sent: %d\n", micros/1e6, micros%1e6, n%89, n%11, n%10007, 60+n%5003)
	fmt.Fprintf(w, "# Tmp_tables: %d  Tmp_disk_tables: 0  Tmp_table_sizes: 0\n# QC_Hit: No  Full_scan: %s  "+
		"Full_join: No  Tmp_table: No  Tmp_table_on_disk: No\n# Filesort: No  Filesort_on_disk: No  Merge_passes: 0\n",
		n%2, []string{"Yes", "No"}[n%2])
	fmt.Fprintf(w, "#   InnoDB_IO_r_ops: %d  InnoDB_IO_r_bytes: %d  InnoDB_IO_r_wait: 0.00%04d\n#   "+
		"InnoDB_rec_lock_wait: 0.000000  InnoDB_queue_wait: 0.000000\n#   InnoDB_pages_distinct: %d\n", n%3,
		16384*(n%3), n%9973, n%211)
	fmt.Fprintf(w, "SET timestamp=%d;\n%s;\n", t.Unix(), sql)
	w.entries++
	w.nanos += micros * 1000
}

// big writes a log of so many bytes and classes.
func big(size, classes int, verbose bool) *written {
	rng := rand.New(rand.NewPCG(1, 2))
	w := new(written)
	for i := 0; w.Len() < size; i++ {
		c := rng.IntN(classes)
		sql := fmt.Sprintf(
			"SELECT c%s, name FROM orders_%s WHERE id = %d AND state IN (1, 2, %d) AND name LIKE 'x%d%%'", word(c),
			word(c%50), rng.IntN(1e6), rng.IntN(9), rng.IntN(99))
		t := at.Add(time.Duration(i) * 10 * time.Millisecond)
		if verbose {
			w.verbose(t, int64(rng.IntN(3e6)), "shop", sql)
		} else {
			w.entry(t, int64(rng.IntN(3e6)), "", sql)
		}
	}
	return w
}

// word spells a number without digits, which a fingerprint would fold.
func word(n int) string {
	b := []byte{'a'}
	for ; n > 0; n /= 26 {
		b = append(b, byte('a'+n%26))
	}
	return string(b)
}

func BenchmarkFiles(b *testing.B) {
	for _, classes := range []int{50, 20_000} {
		for _, verbose := range []bool{true, false} {
			w := big(200<<20, classes, verbose)
			path := write(b, b.TempDir(), "log", w.Bytes())
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("classes=%d/verbose=%v/workers=%d", classes, verbose, workers), func(b *testing.B) {
					b.SetBytes(int64(w.Len()))
					b.ReportAllocs()
					began := processor(b)
					for b.Loop() {
						a, _, err := Files(b.Context(), LogOptions{Paths: []string{path}, Workers: workers})
						if err != nil || a.Entries() != w.entries {
							b.Fatal(a.Entries(), err)
						}
					}
					// What a busy machine takes from us is not in it.
					b.ReportMetric(float64(w.Len())*float64(b.N)/1e6/(processor(b)-began).Seconds(), "MB/cpu-s")
				})
			}
		}
	}
}

// processor returns the processor time that this process has taken.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

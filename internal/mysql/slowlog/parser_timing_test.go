package slowlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// fullLog is a log as a server with full verbosity writes it: 600 bytes and 20 figures an entry.
func fullLog(entries int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := range entries {
		if i%3 == 0 {
			fmt.Fprintf(&b, "# Time: 261121 %2d:%02d:%02d\n", i/3600%24, i/60%60, i%60)
		}
		fmt.Fprintf(&b, "# User@Host: app%d[app%d] @ web%02d.example.com [10.0.0.%d]\n", i%3, i%3, i%40, i%40)
		fmt.Fprintf(&b, "# Thread_id: %d  Schema: shop  QC_hit: No\n", r.IntN(100000))
		fmt.Fprintf(&b, "# Query_time: %.6f  Lock_time: %.6f  Rows_sent: %d  Rows_examined: %d\n", r.ExpFloat64()/100,
			r.ExpFloat64()/1e5, r.IntN(10), r.IntN(10000))
		fmt.Fprintf(&b, "# Rows_affected: 0  Bytes_sent: %d\n", r.IntN(5000))
		if i%5 == 0 {
			fmt.Fprintf(&b, "# Tmp_tables: 1  Tmp_disk_tables: 0  Tmp_table_sizes: %d\n", r.IntN(50000))
		}
		fmt.Fprintf(&b, "# Full_scan: %s  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No\n",
			[]string{"Yes", "No"}[i%2])
		fmt.Fprintf(&b, "# Filesort: No  Filesort_on_disk: No  Merge_passes: 0  Priority_queue: No\n")
		fmt.Fprintf(&b,
			"# Pages_accessed: %d  Pages_read: 0  Pages_prefetched: 0  Pages_updated: 0  Old_rows_read: 0\n",
			r.IntN(100))
		fmt.Fprintf(&b, "# Pages_read_time: 0.0000  Engine_time: %.4f\n", r.ExpFloat64())
		fmt.Fprintf(&b, "SET timestamp=%d;\n", 1795000000+i)
		fmt.Fprintf(&b, "SELECT c, pad FROM sbtest%d WHERE id BETWEEN %d AND %d ORDER BY c;\n", i%100,
			r.IntN(1e6), r.IntN(1e6))
	}
	return b.Bytes()
}

// classicLog is a log as MySQL writes it by default.
func classicLog(entries int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	var b bytes.Buffer
	for i := range entries {
		fmt.Fprintf(&b, "# Time: 2026-11-21T%02d:%02d:%02d.%06dZ\n", i/3600%24, i/60%60, i%60, r.IntN(1e6))
		fmt.Fprintf(&b, "# User@Host: app[app] @ localhost []  Id: %5d\n", r.IntN(100000))
		fmt.Fprintf(&b, "# Query_time: %.6f  Lock_time: %.6f Rows_sent: %d  Rows_examined: %d\n", r.ExpFloat64()/100,
			r.ExpFloat64()/1e5, r.IntN(10), r.IntN(10000))
		fmt.Fprintf(&b, "SET timestamp=%d;\n", 1795000000+i)
		fmt.Fprintf(&b, "UPDATE sbtest%d SET k = k + 1 WHERE id = %d;\n", i%10, r.IntN(1e6))
	}
	return b.Bytes()
}

func BenchmarkParser(b *testing.B) {
	for _, one := range []struct {
		name string
		log  []byte
	}{{"full", fullLog(2000)}, {"classic", classicLog(4000)}} {
		b.Run(one.name, func(b *testing.B) {
			b.SetBytes(int64(len(one.log)))
			b.ReportAllocs()
			p := NewParser()
			var e Entry
			best := time.Hour // of a machine that others use too, the best pass tells most
			for b.Loop() {
				began := time.Now()
				p.Reset(one.log, 0, State{})
				for p.Next(&e) {
				}
				best = min(best, time.Since(began))
			}
			b.ReportMetric(float64(len(one.log))/1e6/best.Seconds(), "best-MB/s")
		})
	}
}

func BenchmarkAfter(b *testing.B) {
	log := fullLog(2000)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		State{}.After(log)
	}
}

func TestParserDoesNotAllocate(t *testing.T) {
	for _, log := range [][]byte{fullLog(200), classicLog(200)} {
		p := NewParser()
		var e Entry
		n := testing.AllocsPerRun(10, func() {
			p.Reset(log, 0, State{DB: "shop"})
			for p.Next(&e) {
			}
		})
		if n != 0 {
			t.Errorf("%v allocations for 200 entries", n)
		}
	}
}

package digest_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/peer"
)

// percona is an entry as Percona Server documents it for log_slow_verbosity=full. rate is what log_slow_rate_limit
// adds.
func percona(i int, rate string) string {
	at := begin.Add(time.Duration(i) * 700 * time.Millisecond)
	yes := []string{"No", "Yes"}[i%2]
	var b strings.Builder
	fmt.Fprintf(&b, "# Time: %s\n# User@Host: app[app] @ web-%d [10.0.0.%d]  Id: %d\n",
		at.Format("2006-01-02T15:04:05.000000Z"), i%3, i%3, 10+i%5)
	fmt.Fprintf(&b, "# Schema: shop  Last_errno: %d  Killed: 0\n", i%10/9*1062)
	fmt.Fprintf(&b, "# Query_time: %.6f  Lock_time: %.6f  Rows_sent: %d  Rows_examined: %d  Rows_affected: %d\n",
		0.001*float64(i%50), 0.0001*float64(i%7), i%11, i, i%4)
	fmt.Fprintf(&b, "# Bytes_sent: %d  Tmp_tables: %d  Tmp_disk_tables: 0  Tmp_table_sizes: %d\n", i*13, i%2, i%2*16384)
	if i%5 != 0 {
		fmt.Fprintf(&b, "# InnoDB_trx_id: %X\n", 0xA000+i)
	}
	fmt.Fprintf(&b, "# Full_scan: %s  Full_join: No  Tmp_table: %s  Tmp_table_on_disk: No\n# Filesort: No  "+
		"Filesort_on_disk: No  Merge_passes: 0\n", yes, yes)
	if i%5 == 0 {
		b.WriteString("# No InnoDB statistics available for this query\n")
	} else {
		fmt.Fprintf(&b, "#   InnoDB_IO_r_ops: %d  InnoDB_IO_r_bytes: %d  InnoDB_IO_r_wait: %.6f\n#   "+
			"InnoDB_rec_lock_wait: 0.000000  InnoDB_queue_wait: 0.000000\n#   InnoDB_pages_distinct: %d\n",
			i%3, i%3*16384, 0.00001*float64(i%9), i%40)
	}
	b.WriteString(rate)
	fmt.Fprintf(&b, "SET timestamp=%d;\nSELECT a FROM %s WHERE id = %d;\n", at.Unix(),
		[]string{"orders", "items", "stock"}[i%3], i)
	return b.String()
}

func perconaLog(n int, rate string) string {
	var b strings.Builder
	b.WriteString(strings.Replace(banner, "Source distribution", "Percona Server (GPL), Release 25", 1))
	for i := range n {
		b.WriteString(percona(i, rate))
	}
	return b.String()
}

// TestPercona holds a log with full verbosity against the peers.
func TestPercona(t *testing.T) {
	path := write(t, "slow.log", perconaLog(500, ""))
	r := digest(t, 0, path)
	sameAsPt(t, r, peer.Options{}, path)
	sameAsDumpslow(t, r, path)
	closeToTruth(t, r, readTruth(read(t, path)))
	errors := uint64(0)
	for _, c := range r.Classes {
		for _, e := range c.ErrorCodes {
			if e.Name != "1062" {
				t.Errorf("error %q", e.Name)
			}
			errors += e.Count
		}
	}
	if errors != 50 {
		t.Errorf("%d errors, want 50", errors)
	}
}

// TestRateLimit has one of ten statements logged: counts and sums stand for all, the rest is as it is.
func TestRateLimit(t *testing.T) {
	for _, kind := range []string{"query", "session"} {
		t.Run(kind, func(t *testing.T) {
			all := digest(t, 0, write(t, "slow.log", perconaLog(500, "")))
			some := digest(t, 0, write(t, "slow.log", perconaLog(500, "# Log_slow_rate_type: "+kind+
				"  Log_slow_rate_limit: 10\n")))
			if some.Global.Count != 5000 || some.Global.Entries != 500 {
				t.Errorf("%d statements, %d entries", some.Global.Count, some.Global.Entries)
			}
			want := map[string]class{}
			for _, c := range all.Classes {
				want[c.ID] = c
			}
			for _, c := range some.Classes {
				w := want[c.ID]
				if c.Count != 10*w.Count {
					t.Errorf("%s: count %d, want %d", c.ID, c.Count, 10*w.Count)
				}
				for key, f := range c.Attributes {
					x := w.Attributes[key]
					if math.Abs(f.Sum-10*x.Sum) > 1e-9*x.Sum+1e-6 || f.Min != x.Min || f.Max != x.Max ||
						math.Abs(f.Avg-x.Avg) > 1e-9*x.Avg+1e-9 {
						t.Errorf("%s %s: %+v, want %+v with ten times the sum", c.ID, key, f, x)
					}
				}
			}
		})
	}
}

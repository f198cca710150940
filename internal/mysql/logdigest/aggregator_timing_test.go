package logdigest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// fullVerbosity gives entries as Percona Server writes them with log_slow_verbosity=full, all of one class.
func fullVerbosity(n int) []slowlog.Entry {
	header := []slowlog.Attribute{
		slowlog.QueryTime, slowlog.LockTime, slowlog.RowsSent, slowlog.RowsExamined,
		slowlog.RowsAffected, slowlog.BytesSent,
		slowlog.TmpTables, slowlog.TmpDiskTables, slowlog.TmpTableSizes, slowlog.QCHit, slowlog.FullScan,
		slowlog.FullJoin, slowlog.TmpTable,
		slowlog.TmpTableOnDisk, slowlog.Filesort, slowlog.FilesortOnDisk, slowlog.MergePasses, slowlog.InnoDBIOReadOps,
		slowlog.InnoDBIOReadBytes, slowlog.InnoDBIOReadWait, slowlog.InnoDBRecLockWait, slowlog.InnoDBQueueWait,
		slowlog.InnoDBPagesDistinct, slowlog.QueryLength,
	}
	r := rand.New(rand.NewPCG(uint64(n), 1))
	entries := make([]slowlog.Entry, n)
	for i := range entries {
		e := &entries[i]
		e.SQL = []byte("SELECT aaaa, customer, amount, created FROM orders WHERE customer = 1042 AND status IN " +
			"('open', 'late') ORDER BY created LIMIT 10")
		e.Offset, e.Length, e.At, e.Rate = int64(i)*600, 600, 1_700_000_000_000_000+int64(i)*5000, 1
		e.User, e.Host, e.DB = []byte("app"), fmt.Appendf(nil, "10.0.0.%d", r.IntN(8)), []byte("shop")
		io := r.IntN(10) == 0
		for _, x := range header {
			v := 0.0
			switch x {
			case slowlog.QueryTime:
				v = math.Round(math.Exp(r.NormFloat64()-6)*1e6) / 1e6
			case slowlog.LockTime:
				v = float64(r.IntN(100)) / 1e6
			case slowlog.RowsSent, slowlog.InnoDBPagesDistinct:
				v = float64(r.IntN(30))
			case slowlog.RowsExamined, slowlog.BytesSent:
				v = math.Floor(100 * math.Exp(r.NormFloat64()))
			case slowlog.FullScan, slowlog.Filesort:
				v = float64(r.IntN(2))
			case slowlog.InnoDBIOReadOps, slowlog.InnoDBIOReadBytes, slowlog.InnoDBIOReadWait:
				if io {
					v = float64(r.IntN(100)) / 64
					if x != slowlog.InnoDBIOReadWait {
						v = math.Floor(v * 1e4)
					}
				}
			case slowlog.QueryLength:
				v = float64(len(e.SQL))
			default: // nought
			}
			e.Figures = append(e.Figures, slowlog.Figure{Attribute: x, Value: v})
		}
	}
	return entries
}

// BenchmarkAdd counts entries that lie in the cache, as those of a parser do.
func BenchmarkAdd(b *testing.B) {
	for _, classes := range []int{50, 20_000} {
		entries := fullVerbosity(512)
		b.Run(fmt.Sprint(classes), func(b *testing.B) {
			b.SetBytes(600)
			b.ReportAllocs()
			a := New(Config{})
			x := uint32(1)
			add := func(i int) {
				e := &entries[i%len(entries)]
				e.Offset += 600 * int64(len(entries))
				x = x*1664525 + 1013904223
				k := uint64(x) * uint64(classes) >> 32
				for j := range 4 {
					e.SQL[len("SELECT ")+j] = 'a' + byte(k%26)
					k /= 26
				}
				a.Add(nil, e, 0)
			}
			for i := range max(100_000, 36*classes) {
				add(i)
			}
			for i := 0; b.Loop(); i++ {
				add(i)
			}
		})
	}
}

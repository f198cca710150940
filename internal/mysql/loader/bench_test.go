package loader

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// BenchmarkPrepare loads the same table with Dyno and with sysbench, in turns; -benchtime=5x takes five rounds. Times
// are medians, ratios those of rows per second to sysbench's in the same round.
func BenchmarkPrepare(b *testing.B) {
	const rows = 1_000_000
	for _, x := range []struct{ flavor, setting string }{
		{"mariadb", "local_infile=ON"},
		{"mysql", "local_infile=ON"},
		{"mysql", "local_infile=OFF"},
	} {
		b.Run(x.flavor+"/"+x.setting, func(b *testing.B) {
			s := servers.Start(b, x.flavor, "innodb_buffer_pool_size=1G", x.setting)
			tg := open(b, s)
			s.Exec(b, "CREATE DATABASE sbtest")
			cache := &load.Cache{Dir: b.TempDir(), Remark: func(text string) { b.Error(text) }}
			dyno := func(threads int, c *load.Cache) func() error {
				d := load.Data{
					Workload: workload.PointSelect{}, Options: map[string]string{"table-size": fmt.Sprint(rows)},
					Threads: threads, Cache: c,
				}
				return func() error { return on(tg).Prepare(b.Context(), d, nil) }
			}
			names := []string{"sysbench", "dyno", "dyno-2-threads", "dyno-again"}
			ways := []func() error{func() error {
				out, err := exec.Command("sysbench", "--mysql-socket="+s.Socket, "--mysql-user=root",
					fmt.Sprintf("--table-size=%d", rows), "oltp_point_select", "prepare").CombinedOutput()
				if err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			}, dyno(1, nil), dyno(2, nil), dyno(1, cache)}
			took, ratio := make([][]float64, len(ways)), make([][]float64, len(ways))
			mb := make([]float64, len(ways))
			if err := ways[3](); err != nil { // fills the cache
				b.Fatal(err)
			}
			s.Exec(b, "DROP TABLE sbtest.sbtest1")
			for b.Loop() {
				for i, prepare := range ways {
					begin := time.Now()
					if err := prepare(); err != nil {
						b.Fatal(err)
					}
					took[i] = append(took[i], time.Since(begin).Seconds())
					ratio[i] = append(ratio[i], took[0][len(took[0])-1]/took[i][len(took[i])-1])
					s.Exec(b, "ANALYZE TABLE sbtest.sbtest1")
					if err := s.DB(b, "").QueryRow("SELECT (DATA_LENGTH + INDEX_LENGTH) / 1048576 FROM " +
						"information_schema.TABLES WHERE TABLE_NAME = 'sbtest1'").Scan(&mb[i]); err != nil {
						b.Fatal(err)
					}
					s.Exec(b, "DROP TABLE sbtest.sbtest1")
				}
				fmt.Fprintf(b.Output(), "seconds %.2f\n", took)
			}
			for i, name := range names {
				slices.Sort(took[i])
				slices.Sort(ratio[i])
				b.ReportMetric(rows/took[i][len(took[i])/2], name+"-rows/s")
				b.ReportMetric(ratio[i][len(ratio[i])/2], name+"-ratio")
				b.ReportMetric(mb[i], name+"-MB")
			}
		})
	}
}

// BenchmarkRun runs the same load for five seconds with Dyno and with sysbench, in turns.
func BenchmarkRun(b *testing.B) {
	s := servers.Start(b, "mariadb", "innodb_buffer_pool_size=256M")
	tg := open(b, s)
	if err := on(tg).Prepare(b.Context(), load.Data{
		Workload: workload.ReadWrite{},
		Options:  map[string]string{"table-size": "100000"}, Threads: 2,
	}, nil); err != nil {
		b.Fatal(err)
	}
	for _, w := range workload.All() {
		b.Run(w.Name()+"/dyno", func(b *testing.B) {
			r, err := on(tg).Run(b.Context(), load.Config{
				Workload: w, Options: map[string]string{"table-size": "100000"},
				Threads: 8, Time: 5 * time.Second,
			}, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(r.Total.QPS(), "queries/s")
			b.ReportMetric(float64(r.Total.ClientCPU.Microseconds())/float64(r.Total.Queries()), "clientµs/query")
		})
		b.Run(w.Name()+"/sysbench", func(b *testing.B) {
			cmd := exec.Command("sysbench", "--mysql-socket="+s.Socket, "--mysql-user=root", "--table-size=100000",
				"--threads=8", "--time=5", w.Name(), "run")
			before := s.Status(b, "Questions")
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			n := float64(s.Status(b, "Questions") - before)
			cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			b.ReportMetric(n/5, "queries/s")
			b.ReportMetric(float64(cpu.Microseconds())/n, "clientµs/query")
		})
	}
}

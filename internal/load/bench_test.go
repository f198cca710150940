package load

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"dyno/internal/workload"
	"dyno/test/servers"
)

// BenchmarkPrepare loads the same table with Dyno and with sysbench, in turns.
func BenchmarkPrepare(b *testing.B) {
	const rows = 300_000
	for _, flavor := range servers.Flavors {
		s := servers.Start(b, flavor, "innodb_buffer_pool_size=512M")
		tg := open(b, s)
		o := map[string]string{"table-size": fmt.Sprint(rows)}
		s.Exec(b, "CREATE DATABASE sbtest")
		size := func() (mb float64) {
			if err := s.DB(b, "").QueryRow("SELECT (DATA_LENGTH + INDEX_LENGTH) / 1048576 FROM information_schema.TABLES WHERE TABLE_NAME = 'sbtest1'").Scan(&mb); err != nil {
				b.Fatal(err)
			}
			return mb
		}
		f := func(name string, prepare func() error) {
			b.Run(flavor+"/"+name, func(b *testing.B) {
				var mb float64
				for b.Loop() {
					if err := prepare(); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					s.Exec(b, "ANALYZE TABLE sbtest.sbtest1")
					mb = size()
					s.Exec(b, "DROP TABLE sbtest.sbtest1")
					b.StartTimer()
				}
				b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
				b.ReportMetric(mb, "MB")
			})
		}
		dyno := func(threads int) func() error {
			return func() error {
				return Prepare(b.Context(), tg, Data{Workload: workload.PointSelect{}, Options: o, Threads: threads}, nil)
			}
		}
		peer := func() error {
			out, err := exec.Command("sysbench", "--mysql-socket="+s.Socket, "--mysql-user=root", fmt.Sprintf("--table-size=%d", rows), "oltp_point_select", "prepare").CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		}
		f("sysbench", peer)
		f("dyno-1", dyno(1))
		f("dyno-2", dyno(2))
		f("sysbench-again", peer)
	}
}

// BenchmarkRun runs the same load for five seconds with Dyno and with sysbench, in turns.
func BenchmarkRun(b *testing.B) {
	s := servers.Start(b, "mariadb", "innodb_buffer_pool_size=256M")
	tg := open(b, s)
	if err := Prepare(b.Context(), tg, Data{Workload: workload.ReadWrite{}, Options: map[string]string{"table-size": "100000"}, Threads: 2}, nil); err != nil {
		b.Fatal(err)
	}
	for _, w := range workload.All() {
		b.Run(w.Name()+"/dyno", func(b *testing.B) {
			r, err := Run(b.Context(), tg, Config{Workload: w, Options: map[string]string{"table-size": "100000"}, Threads: 8, Time: 5 * time.Second}, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(r.Total.QPS(), "queries/s")
			b.ReportMetric(float64(r.Total.ClientCPU.Microseconds())/float64(r.Total.Queries()), "clientµs/query")
		})
		b.Run(w.Name()+"/sysbench", func(b *testing.B) {
			cmd := exec.Command("sysbench", "--mysql-socket="+s.Socket, "--mysql-user=root", "--table-size=100000", "--threads=8", "--time=5", w.Name(), "run")
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

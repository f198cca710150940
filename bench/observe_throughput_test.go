//go:build bench

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/loader"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestObserveThroughput saturates a server that has a CPU of its own; load and watchers share another. Blocks in which
// nobody watches, Dyno does or the exporter is asked each second follow each other in an order drawn anew each time,
// and the throughput of each block is compared with that of the unwatched one beside it.
func TestObserveThroughput(t *testing.T) {
	blocks := count(t, "BLOCKS")
	if blocks < 1 {
		t.Skip("not requested")
	}
	block := setting(t, "BLOCK")
	cpus := ownCPUs(t)
	if len(cpus) < 2 {
		t.Skip("it needs two CPUs")
	}
	if err := host.Pin(cpus[1:2]); err != nil {
		t.Fatal(err)
	}
	defer host.Pin(cpus)
	for _, flavor := range strings.Fields(os.Getenv("SERVERS")) {
		s := servers.Start(t, flavor, "performance_schema=ON")
		fill(t, s)
		if err := host.PinProcess(s.PID, cpus[:1]); err != nil {
			t.Fatal(err)
		}
		tg := reach(t, s)
		w, err := workload.Find(workload.All(), "oltp_point_select")
		if err != nil {
			t.Fatal(err)
		}
		if err := (loader.Server{T: tg}).Prepare(t.Context(), load.Data{
			Workload: w,
			Options:  map[string]string{"table_size": "10000"},
		}, nil); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		loaded := make(chan error, 1)
		go func() {
			_, err := loader.Server{T: tg}.Run(ctx, load.Config{
				Workload: w, Options: map[string]string{"table_size": "10000"},
				Threads: 8, Seed: 1,
			}, func(loadresult.Tick) {})
			loaded <- err
		}()
		dyno := exec.Command(os.Args[0])
		dyno.Env = append(os.Environ(), "DYNO_BENCH_CHILD="+s.URL("root"), "DYNO_BENCH_KIND="+dynoDefault)
		dyno.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		in, err := dyno.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := dyno.Start(); err != nil {
			t.Fatal(err)
		}
		ask := exporter(t, s)
		time.Sleep(3 * time.Second) // it learns about the server
		signal := func(sig syscall.Signal) {
			if err := dyno.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
		}
		signal(syscall.SIGSTOP)
		db := s.DB(t, "")
		questions := func() (n float64) {
			var name string
			if err := db.QueryRow("SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		kinds := []string{"", dynoDefault, exporterDefault}
		ratios := map[string][]float64{}
		var alone []float64
		draw := rand.New(rand.NewPCG(2, 1))
		for range blocks {
			draw.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
			rate := map[string]float64{}
			for _, kind := range kinds {
				if kind == dynoDefault {
					signal(syscall.SIGCONT)
				}
				a, began := questions(), time.Now()
				for end := began.Add(block); time.Now().Before(end); time.Sleep(min(time.Second, time.Until(end))) {
					if kind == exporterDefault {
						if _, err := ask(); err != nil {
							t.Fatal(err)
						}
					}
				}
				rate[kind] = (questions() - a) / time.Since(began).Seconds()
				if kind == dynoDefault {
					signal(syscall.SIGSTOP)
				}
			}
			alone = append(alone, rate[""])
			for _, k := range kinds {
				if k != "" {
					ratios[k] = append(ratios[k], 100*rate[k]/rate[""])
				}
			}
		}
		signal(syscall.SIGCONT)
		in.Close()
		dyno.Wait()
		stop()
		<-loaded
		fmt.Printf("\n%s saturated by point selects on CPU %d, load and watcher on CPU %d: statements a second "+
			"unwatched %s; throughput kept, %%, middle and 95 %% interval over %d triples of blocks of %v\n",
			flavor, cpus[0], cpus[1], show(alone), blocks, block)
		for _, k := range []string{dynoDefault, exporterDefault} {
			fmt.Printf("%-40s %s\n", k, show(ratios[k]))
		}
		s.Kill(t)
	}
}

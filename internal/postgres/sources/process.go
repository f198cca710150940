package sources

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
)

// process reads the server's processes on this machine, which are a parent and a child for each session and task:
//
//	dyno_server_cpu_seconds_total{mode="user"|"system"}   of all of them, of those that have ended too
//	dyno_server_processes
//	dyno_server_resident_bytes    what they have for themselves, and once what they share
//	dyno_server_io_read_bytes_total dyno_server_io_written_bytes_total   bytes from and to disks; the server's user or
//	root only
type process struct {
	find  func(context.Context) (pid int, ok bool)
	pid   int
	start uint64
	tried time.Time
	last  [4]float64 // of the counters
}

// retryFind is how long a server that was not found here is not looked for: that takes a connection.
const retryFind = 5 * time.Second

var modes = [2]metric.Labels{metric.L("mode", "user"), metric.L("mode", "system")}

func (s *process) Name() source.Name { return source.Process }

func (s *process) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	if s.pid == 0 && time.Since(s.tried) >= retryFind {
		if pid, ok := s.find(ctx); ok {
			s.pid, s.start = pid, 0
		}
		s.tried = time.Now()
	}
	if s.pid == 0 {
		return &scrape.Problem{
			State: source.Missing, Reason: "the processes of the server are not visible: the server runs on another " +
				"machine or in another container",
			Fix: "run dyno on the server's machine to see them",
		}
	}
	r, err := host.Family(s.pid)
	if err == nil && s.start != 0 && r.Start != s.start {
		err = os.ErrNotExist
	}
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			s.pid, s.tried = 0, time.Time{}
			return &scrape.Problem{State: source.Failed, Reason: "the server's process has ended", Err: err}
		}
		return err
	}
	if s.start == 0 {
		s.start, s.last = r.Start, [4]float64{}
	}
	// A child that ends while all are read may be counted twice, once: see host.Family.
	count := func(i int, name string, ls metric.Labels, v float64) {
		s.last[i] = max(s.last[i], v)
		emit(metric.Sample{Name: name, Labels: ls, Kind: metric.Counter, At: at, Value: s.last[i]})
	}
	count(0, "dyno_server_cpu_seconds_total", modes[0], r.UserSec)
	count(1, "dyno_server_cpu_seconds_total", modes[1], r.SysSec)
	emit(metric.Sample{Name: "dyno_server_processes", At: at, Value: float64(r.Processes)})
	emit(metric.Sample{Name: "dyno_server_resident_bytes", At: at, Value: float64(r.AnonBytes + r.SharedBytes)})
	if r.IODenied != nil {
		return &scrape.Problem{
			State: source.Denied, Partial: true, Err: r.IODenied,
			Reason: "the bytes that the processes read and write are hidden from this user; their other figures are " +
				"available",
			Fix: "run dyno as root or as the server's user",
		}
	}
	count(2, "dyno_server_io_read_bytes_total", nil, float64(r.ReadBytes.Or(0)))
	count(3, "dyno_server_io_written_bytes_total", nil, float64(r.WriteBytes.Or(0)))
	return nil
}

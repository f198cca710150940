package scrape

import (
	"context"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// childrenSource reads the processes of a server that is a parent and a child for each session and task:
//
//	dyno_server_cpu_seconds_total{mode="user"|"system"}   of all of them, of those that have ended too
//	dyno_server_processes
//	dyno_server_resident_bytes    what they have for themselves, and once what they share
//	dyno_server_io_read_bytes_total dyno_server_io_written_bytes_total   bytes from and to disks; the server's user or
//	root only
type childrenSource struct {
	place *place
	start uint64
	last  [4]float64 // of the counters
}

func (s *childrenSource) Name() source.Name { return source.Process }

func (s *childrenSource) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	f, pid, err := s.place.process(ctx, at, "the processes")
	if err != nil {
		return err
	}
	r, err := host.FamilyOf(f, pid)
	if err == nil {
		err = s.place.same(host.ProcReading{PID: pid, Start: r.Start})
	}
	if err != nil {
		return s.place.gone(err)
	}
	if s.start != r.Start {
		s.start, s.last = r.Start, [4]float64{}
	}
	// A child that ends while all are read may be counted twice, once: see host.Family.
	count := func(i int, name string, ls metric.Labels, v float64) {
		s.last[i] = max(s.last[i], v)
		emit(metric.Sample{Name: name, Labels: ls, Kind: metric.Counter, At: at, Value: s.last[i]})
	}
	count(0, "dyno_server_cpu_seconds_total", modeUser, r.UserSec)
	count(1, "dyno_server_cpu_seconds_total", modeSystem, r.SysSec)
	emit(metric.Sample{Name: "dyno_server_processes", At: at, Value: float64(r.Processes)})
	emit(metric.Sample{Name: "dyno_server_resident_bytes", At: at, Value: float64(r.AnonBytes + r.SharedBytes)})
	if r.IODenied != nil {
		return &Problem{
			State: source.Denied, Partial: true, Err: r.IODenied,
			Reason: "the bytes that the processes read and write are hidden from this user; their other figures are " +
				"available",
			Fix: fixHidden(f),
		}
	}
	count(2, "dyno_server_io_read_bytes_total", nil, float64(r.ReadBytes.Or(0)))
	count(3, "dyno_server_io_written_bytes_total", nil, float64(r.WriteBytes.Or(0)))
	return nil
}

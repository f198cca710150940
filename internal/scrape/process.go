package scrape

import (
	"context"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// processSource reads the server's own process on this machine:
//
//	dyno_server_cpu_seconds_total{mode="user"|"system"}   dyno_server_resident_bytes   dyno_server_threads
//	dyno_server_io_read_bytes_total dyno_server_io_written_bytes_total bytes from and to disks; the process's user or
//	root only
type processSource struct{ place *place }

var modeUser, modeSystem = metric.L("mode", "user"), metric.L("mode", "system")

func (s *processSource) Name() source.Name { return source.Process }

func (s *processSource) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	f, pid, err := s.place.process(ctx, at, "the process")
	if err != nil {
		return err
	}
	r, err := f.Process(pid)
	if err == nil {
		err = s.place.same(r)
	}
	if err != nil {
		return s.place.gone(err)
	}
	put := func(name string, kind metric.Kind, ls metric.Labels, v float64) {
		emit(metric.Sample{Name: name, Labels: ls, Kind: kind, At: at, Value: v})
	}
	put("dyno_server_cpu_seconds_total", metric.Counter, modeUser, r.UserSec)
	put("dyno_server_cpu_seconds_total", metric.Counter, modeSystem, r.SysSec)
	put("dyno_server_resident_bytes", metric.Gauge, nil, float64(r.RSSBytes))
	put("dyno_server_threads", metric.Gauge, nil, float64(r.Threads))
	if v, ok := r.ReadBytes.Get(); ok {
		put("dyno_server_io_read_bytes_total", metric.Counter, nil, float64(v))
	}
	if v, ok := r.WriteBytes.Get(); ok {
		put("dyno_server_io_written_bytes_total", metric.Counter, nil, float64(v))
	}
	if r.IODenied != nil {
		return &Problem{
			State: source.Denied, Partial: true, Err: r.IODenied,
			Reason: "the bytes that the process reads and writes are hidden from this user; its other figures are " +
				"available",
			Fix: fixHidden(f),
		}
	}
	return nil
}

func ended(err error) error {
	return &Problem{State: source.Failed, Reason: "the server's process has ended", Err: err}
}

package scrape

import (
	"context"
	"errors"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// cgroupSource reads the control groups of the server's process, version 1 or 2, all processes in them together:
//
//	dyno_cgroup_cpu_seconds_total dyno_cgroup_cpu_periods_total dyno_cgroup_cpu_throttled_periods_total
//	dyno_cgroup_cpu_throttled_seconds_total
//	dyno_cgroup_cpu_limit_cores dyno_cgroup_memory_limit_bytes the tightest on the way up; missing when there is none
//	dyno_cgroup_memory_bytes dyno_cgroup_swap_bytes dyno_cgroup_memory_limit_hits_total dyno_cgroup_oom_kills_total
//	dyno_cgroup_read_bytes_total dyno_cgroup_written_bytes_total dyno_cgroup_reads_total dyno_cgroup_writes_total
//	dyno_cgroup_pressure_seconds_total{resource,kind}
type cgroupSource struct {
	place    *place
	groups   *host.Groups
	start    uint64 // of the process whose groups these are
	pressure map[string][2]metric.Labels
}

func (s *cgroupSource) Name() source.Name { return source.Cgroup }

func (s *cgroupSource) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	f, pid, err := s.place.process(ctx, at, "the process")
	if err != nil {
		return err
	}
	if s.groups == nil || s.start != s.place.start {
		if s.groups, err = f.FindGroups(pid); err != nil {
			s.groups = nil
			if errors.Is(err, host.ErrNoGroup) {
				return &Problem{State: source.Missing, Reason: err.Error(), Err: err}
			}
			return s.place.gone(err)
		}
		s.start = s.place.start
	}
	u, err := s.groups.On(f).Read()
	if err != nil { // the process may have been moved to another group
		s.groups = nil
		return s.place.gone(err)
	}
	tellKnown(at, emit,
		ofKernel{"dyno_cgroup_cpu_periods_total", metric.Counter, u.Periods},
		ofKernel{"dyno_cgroup_cpu_throttled_periods_total", metric.Counter, u.Throttled},
		ofKernel{"dyno_cgroup_memory_bytes", metric.Gauge, u.Memory},
		ofKernel{"dyno_cgroup_swap_bytes", metric.Gauge, u.Swap},
		ofKernel{"dyno_cgroup_memory_limit_bytes", metric.Gauge, u.MemoryLimit},
		ofKernel{"dyno_cgroup_memory_limit_hits_total", metric.Counter, u.LimitHits},
		ofKernel{"dyno_cgroup_oom_kills_total", metric.Counter, u.OOMKills},
		ofKernel{"dyno_cgroup_read_bytes_total", metric.Counter, u.ReadBytes},
		ofKernel{"dyno_cgroup_written_bytes_total", metric.Counter, u.WriteBytes},
		ofKernel{"dyno_cgroup_reads_total", metric.Counter, u.Reads}, ofKernel{
			"dyno_cgroup_writes_total",
			metric.Counter, u.Writes,
		})
	seconds := func(name string, kind metric.Kind, ls metric.Labels, v known.Value[float64]) {
		if x, ok := v.Get(); ok {
			emit(metric.Sample{Name: name, Labels: ls, Kind: kind, At: at, Value: x})
		}
	}
	seconds("dyno_cgroup_cpu_seconds_total", metric.Counter, nil, u.CPUSec)
	seconds("dyno_cgroup_cpu_throttled_seconds_total", metric.Counter, nil, u.ThrottledSec)
	seconds("dyno_cgroup_cpu_limit_cores", metric.Gauge, nil, u.CPULimit)
	for _, p := range u.Pressure {
		ls, ok := s.pressure[p.Resource]
		if !ok {
			if s.pressure == nil {
				s.pressure = map[string][2]metric.Labels{}
			}
			ls = [2]metric.Labels{
				metric.L("resource", p.Resource, "kind", "some"),
				metric.L("resource", p.Resource, "kind", "full"),
			}
			s.pressure[p.Resource] = ls
		}
		seconds("dyno_cgroup_pressure_seconds_total", metric.Counter, ls[0], known.Of(p.Some))
		seconds("dyno_cgroup_pressure_seconds_total", metric.Counter, ls[1], p.Full)
	}
	return nil
}

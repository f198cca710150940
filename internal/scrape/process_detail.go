package scrape

import (
	"context"
	"errors"
	"os"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// tellKnown emits what is known of some figures.
func tellKnown(at int64, emit func(metric.Sample), list ...ofKernel) {
	for _, x := range list {
		if n, ok := x.value.Get(); ok {
			emit(metric.Sample{Name: x.name, Kind: x.kind, At: at, Value: float64(n)})
		}
	}
}

type ofKernel struct {
	name  string
	kind  metric.Kind
	value known.Value[uint64]
}

// hidden is what the kernel shows to the process's own user and to root only.
func hidden(f host.FS, what string, err error) *Problem {
	return &Problem{
		State: source.Denied, Partial: true, Err: err, Reason: what + " of the server's process are hidden from " +
			"this user",
		Fix: fixHidden(f),
	}
}

// fixHidden is what shows an account the processes of others.
func fixHidden(f host.FS) string {
	if host.Here(f) {
		return "run dyno as root or as the server's user"
	}
	return "let ssh= name the server's user on that host, or root"
}

// processThreads reads how the server's threads share the CPUs:
//
//	dyno_server_context_switches_total      times that a thread was given a CPU
//	dyno_server_run_queue_seconds_total     time that threads could have run and waited for a CPU, summed
type processThreads struct {
	place *place
	// The kernel counts turns per thread and forgets them with it: what each thread added is summed here, so the last
	// moments of a thread that ends are lost and nothing else.
	start   uint64
	threads map[int]host.Turns
	turns   host.Turns
}

// threadLimit bounds the files that one reading of the threads opens.
const threadLimit = 1000

func (s *processThreads) Name() source.Name { return source.ProcessThreads }

func (s *processThreads) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	f, pid, err := s.place.process(ctx, at, "the process")
	if err != nil {
		return err
	}
	if s.start != s.place.start {
		s.start, s.threads, s.turns = s.place.start, nil, host.Turns{}
	}
	now, err := f.ThreadTurns(pid, threadLimit)
	switch {
	case errors.Is(err, host.ErrTooMany):
		return &Problem{State: source.Missing, Reason: err.Error(), Err: err}
	case err != nil && exists(f, pid): // a kernel that does not count them
		return &Problem{State: source.Missing, Reason: "this kernel does not count the turns of threads", Err: err}
	case err != nil:
		return s.place.gone(err)
	}
	s.add(now)
	emit(metric.Sample{
		Name: "dyno_server_context_switches_total", Kind: metric.Counter, At: at,
		Value: float64(s.turns.Count),
	})
	emit(metric.Sample{
		Name: "dyno_server_run_queue_seconds_total", Kind: metric.Counter, At: at,
		Value: s.turns.WaitSec,
	})
	return nil
}

func exists(f host.FS, pid int) bool {
	_, err := f.Process(pid)
	return err == nil
}

// add sums up what the threads did since the reading before. The first one is what it counts from: what threads did
// before, ended ones too, an earlier reader may have counted.
func (s *processThreads) add(now map[int]host.Turns) {
	if s.threads == nil {
		s.threads = now
		return
	}
	for tid, n := range now {
		old := s.threads[tid]
		if n.Count < old.Count || n.WaitSec < old.WaitSec { // the id is used again
			old = host.Turns{}
		}
		s.turns.Count += n.Count - old.Count
		s.turns.WaitSec += n.WaitSec - old.WaitSec
	}
	s.threads = now
}

// processDetail reads what changes slowly:
//
//	dyno_server_open_fds dyno_server_max_fds dyno_server_swap_bytes dyno_server_resident_peak_bytes
//	dyno_server_anonymous_bytes
type processDetail struct{ place *place }

func (s *processDetail) Name() source.Name { return source.ProcessDetail }

func (s *processDetail) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	f, pid, err := s.place.process(ctx, at, "the process")
	if err != nil {
		return err
	}
	d, err := f.ProcessDetail(pid)
	if err != nil {
		return s.place.gone(err)
	}
	tellKnown(at, emit, ofKernel{"dyno_server_open_fds", metric.Gauge, d.Files}, ofKernel{
		"dyno_server_max_fds",
		metric.Gauge, d.FilesMax,
	},
		ofKernel{"dyno_server_swap_bytes", metric.Gauge, d.Swap}, ofKernel{
			"dyno_server_resident_peak_bytes",
			metric.Gauge, d.PeakRSS,
		},
		ofKernel{"dyno_server_anonymous_bytes", metric.Gauge, d.Anonymous})
	if d.Denied != nil {
		return hidden(f, "the open files", d.Denied)
	}
	return nil
}

// processMemory reads the sum over the server's mappings:
//
//	dyno_server_pss_bytes   dyno_server_huge_pages_bytes
//
// The kernel walks all its page tables for it.
type processMemory struct{ place *place }

func (s *processMemory) Name() source.Name { return source.ProcessMemory }

func (s *processMemory) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	f, pid, err := s.place.process(ctx, at, "the process")
	if err != nil {
		return err
	}
	m, err := f.ProcessMemory(pid)
	switch {
	case errors.Is(err, os.ErrNotExist) && exists(f, pid):
		return &Problem{State: source.Missing, Reason: "this kernel has no smaps_rollup", Err: err}
	case errors.Is(err, os.ErrPermission):
		p := hidden(f, "the mappings", err)
		p.Partial = false
		return p
	case err != nil:
		return s.place.gone(err)
	}
	tellKnown(at, emit, ofKernel{"dyno_server_pss_bytes", metric.Gauge, known.Of(m.PSS)},
		ofKernel{"dyno_server_huge_pages_bytes", metric.Gauge, known.Of(m.HugePages)})
	return nil
}

package scrape

import (
	"context"
	"errors"
	"fmt"
	"os"

	"dyno/internal/host"
	"dyno/internal/metric"
	"dyno/internal/snapshot"
)

// processSource reads the server's own process on this machine:
//
//	dyno_server_cpu_seconds_total{mode="user"|"system"}   dyno_server_resident_bytes   dyno_server_threads
//	dyno_server_io_read_bytes_total  dyno_server_io_written_bytes_total   bytes from and to disks; the process's user or root only
//	dyno_server_context_switches_total      times that a thread was given a CPU
//	dyno_server_run_queue_seconds_total     time that threads could have run and waited for a CPU, summed
type processSource struct {
	find func(context.Context) (pid int, ok bool)
	pid  int
	seen bool // it was found once
	// The kernel counts turns per thread and forgets them with it: what each thread added is summed here, so the last moments
	// of a thread that ends are lost and nothing else.
	start   uint64
	threads map[int]host.Turns
	turns   host.Turns
}

// threadLimit bounds the files that one reading of the threads opens.
const threadLimit = 256

var modeUser, modeSystem = metric.L("mode", "user"), metric.L("mode", "system")

func (s *processSource) Name() string { return "process" }

func (s *processSource) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	if s.pid == 0 {
		pid, ok := s.find(ctx)
		if !ok && s.seen {
			return ended(os.ErrNotExist)
		}
		if !ok {
			return remote("the process")
		}
		s.pid, s.seen = pid, true
	}
	r, err := host.Process(s.pid)
	if err != nil || s.start != 0 && r.Start != s.start { // it ended; its successor is found in the next round
		s.pid, s.start, s.threads, s.turns = 0, 0, nil, host.Turns{}
		if err == nil {
			err = fmt.Errorf("process %d is another one now: %w", r.PID, os.ErrNotExist)
		}
		if errors.Is(err, os.ErrNotExist) {
			return ended(err)
		}
		return err
	}
	s.start = r.Start
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
	if now, err := host.ThreadTurns(s.pid, threadLimit); err == nil {
		s.add(now)
		put("dyno_server_context_switches_total", metric.Counter, nil, float64(s.turns.Count))
		put("dyno_server_run_queue_seconds_total", metric.Counter, nil, s.turns.WaitSec)
	}
	if r.IODenied != nil {
		return &Problem{
			State: snapshot.Denied, Partial: true, Err: r.IODenied,
			Reason: "the bytes that the process reads and writes are hidden from this user; its other figures are there",
			Fix:    "run dyno as root or as the server's user",
		}
	}
	return nil
}

func (s *processSource) add(now map[int]host.Turns) {
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

func ended(err error) error {
	return &Problem{State: snapshot.Failed, Reason: "the server's process has ended", Err: err}
}

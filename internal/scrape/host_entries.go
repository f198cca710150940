package scrape

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
)

// Machine lists the sources that are files of the server's machine. find returns the server's process when it runs on
// this one; datadir is where it keeps its data, as it says itself, "" where it does not. They share what they know of
// where the server is.
func Machine(find func(context.Context) (pid int, ok bool), datadir string) []Entry {
	p := &place{find: find}
	return []Entry{
		{Traits{Cost: Free, About: "CPU, memory, disks and pressure of the machine"}, &hostSource{place: p}},
		{Traits{Cost: Free, About: "CPU, memory and I/O of the server's process"}, &processSource{place: p}},
		{Traits{
			Cost: Free, Every: 5 * time.Second,
			About: "paging, networks, files, NUMA and huge pages of the machine, room for the data",
		}, &hostDetail{place: p, datadir: datadir}},
		{
			Traits{
				Cost:  Free,
				Every: 5 * time.Second,
				About: "context switches and waits for a CPU of the server's threads",
			},
			&processThreads{place: p},
		},
		{
			Traits{Cost: Free, Every: 10 * time.Second, About: "open files, swap and limits of the server's process"},
			&processDetail{place: p},
		},
		{
			Traits{Cost: Free, Every: 5 * time.Minute, About: "memory of the server's process by kind, huge pages"},
			&processMemory{place: p},
		},
		{
			Traits{
				Cost:  Free,
				Every: 2 * time.Second,
				About: "usage, limits and pressure of the server's control group",
			},
			&cgroupSource{place: p},
		},
		{Traits{Cost: Free, Asked: true, About: "each CPU of the machine"}, &hostCPUs{place: p}},
	}
}

// place is where the server runs, as far as that can be seen from here. Free sources are read one after the other, so
// they may share one.
type place struct {
	find  func(context.Context) (pid int, ok bool)
	pid   int
	start uint64 // of the process, clock ticks after boot
	seen  bool   // the server was seen on this machine once: it stays there
	tried time.Time
}

// retryPlace is how long nobody looks again for a server that was not found here: looking takes a connection.
const retryPlace = 500 * time.Millisecond

// local reports whether the server runs on this machine.
func (p *place) local(ctx context.Context) bool {
	if !p.seen {
		p.look(ctx)
	}
	return p.seen
}

func (p *place) look(ctx context.Context) bool {
	if time.Since(p.tried) < retryPlace {
		return false
	}
	pid, ok := p.find(ctx)
	if ok {
		r, err := host.Process(pid)
		ok = err == nil
		p.pid, p.start, p.seen = pid, r.Start, p.seen || ok
	}
	if !ok {
		p.pid, p.tried = 0, time.Now()
	}
	return ok
}

// process returns the server's process; what names what is looked for.
func (p *place) process(ctx context.Context, what string) (pid int, err error) {
	if p.pid != 0 || p.look(ctx) {
		return p.pid, nil
	}
	if p.seen {
		return 0, ended(os.ErrNotExist)
	}
	return 0, remote(what)
}

// gone takes an error of reading the process: it may have ended. Its successor is then looked for in the next round.
func (p *place) gone(err error) error {
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	p.pid, p.start = 0, 0
	return ended(err)
}

// same checks that a process which was read is still the server's.
func (p *place) same(r host.ProcReading) error {
	if r.Start == p.start {
		return nil
	}
	return p.gone(fmt.Errorf("process %d is another one now: %w", r.PID, os.ErrNotExist))
}

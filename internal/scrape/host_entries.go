package scrape

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/source"
)

// Where says how a server's machine is read: as this one, or through a shell on another.
type Where struct {
	// Local returns the server's process when it runs on this machine.
	Local func(context.Context) (pid int, ok bool)
	// Remote reads the machine that the server is reached through; nil for none. Then Local is not asked.
	Remote *host.Remote
	// There returns the server's process on that machine, or host.ErrElsewhere or host.ErrHidden, see
	// host.ServerThere.
	There func(context.Context, host.FS) (pid int, err error)
	// NodeExporter is the URL of a node_exporter, "" for none: the machine is read there as long as neither way shows
	// it. Claim asks the server for what it is known by, so that another machine is not taken for its own.
	NodeExporter string
	Claim        func(context.Context) (host.Claim, error)
	// Children says that the server is a process with a child for each session, as PostgreSQL's. What is known of one
	// process alone is then left out.
	Children bool
}

// Machine lists the sources that are files of the server's machine. datadir is where the server keeps its data, as it
// says itself, "" where it does not. They share what they know of where the server is.
func Machine(w Where, datadir string) []Entry {
	p := &place{where: w, exported: newExported(w, datadir)}
	all := []Entry{
		{
			Traits{Cost: Free, Budget: p.exported.budget(), About: "CPU, memory, disks and pressure of the machine"},
			&hostSource{place: p},
		},
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
	if w.Remote != nil {
		for i := range all {
			all[i].Budget = 1 // it waits for the network, which costs nobody anything
		}
	}
	if !w.Children {
		return all
	}
	single := []source.Name{source.ProcessDetail, source.ProcessMemory, source.ProcessThreads}
	all = slices.DeleteFunc(all, func(e Entry) bool { return slices.Contains(single, e.Source.Name()) })
	for i := range all {
		if all[i].Source.Name() == source.Process {
			all[i].Source = &childrenSource{place: p}
			if w.Remote != nil {
				all[i].Every = 5 * time.Second // there may be hundreds, of two files each
			}
		}
	}
	return all
}

// place is where the server runs, as far as that can be seen from here. Free sources are read one after the other, so
// they may share one.
type place struct {
	where    Where
	exported *exported // nil without a node_exporter
	fs       host.FS
	at       int64 // the round that fs is of
	slow     int64 // the round in which another machine did not answer in time
	pid      int
	start    uint64 // of the process, clock ticks after boot
	seen     bool   // the server was seen on this machine once: it stays there
	why      error  // it was not seen on another machine
	tried    time.Time
	found    chan found // what is found of the server on another machine, while it is looked for; nil for nothing
}

// found is the server's process on another machine, or why it was not found there.
type found struct {
	host.ProcReading
	err error
}

// retryPlace is how long nobody looks again for a server that was not found here: looking takes a connection.
// retryThere is the same for another machine, of which all processes are looked through, and
// retryExported where a node_exporter gives the figures meanwhile.
// lookTime bounds looking there, which takes about ten times as long as the way there and back.
const (
	retryPlace    = 500 * time.Millisecond
	retryThere    = 15 * time.Second
	retryExported = time.Minute
	lookTime      = 10 * time.Second
)

// open makes the machine's files those of the round at.
func (p *place) open(ctx context.Context, at int64) error {
	if p.where.Remote == nil || p.at == at && p.slow != at {
		// Its files are asked for within the time of the source that reads.
		if p.where.Remote != nil {
			p.fs = host.Within(p.fs, ctx)
		}
		return nil
	}
	err := host.ErrSlow
	if p.slow != at {
		// Half of the time, for it may have to be asked for more.
		wait := ctx
		if end, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			wait, cancel = context.WithTimeout(ctx, time.Until(end)/2)
			defer cancel()
		}
		p.fs, err = p.where.Remote.FS(wait)
	}
	if err == nil {
		p.fs, p.at = host.Within(p.fs, ctx), at
		return nil
	}
	if errors.Is(err, host.ErrSlow) {
		p.slow = at // the sources after this one do not wait too
		return &Problem{
			State: source.Slow, Err: err,
			Reason: "the ssh host has not answered in time; its figures of this second are missing",
		}
	}
	return &Problem{
		State: source.Failed, Reason: "the machine is not read through ssh: " + ReasonOf(err),
		Fix: "let the ssh account run sh on that host, which needs no root",
	}
}

// machine returns the files of the machine that the server runs on; what names what is looked for.
func (p *place) machine(ctx context.Context, at int64, what string) (host.FS, error) {
	if err := p.open(ctx, at); err != nil {
		return host.FS{}, err
	}
	if !p.seen && !p.look(ctx) && !p.seen {
		return host.FS{}, p.remote(what)
	}
	return p.fs, nil
}

func (p *place) look(ctx context.Context) bool {
	if p.where.Remote != nil {
		return p.lookThere(ctx)
	}
	retry := retryPlace
	if p.exported != nil && !p.seen { // its figures come every few seconds, which must not be a login each
		retry = retryExported
	}
	if time.Since(p.tried) < retry {
		return false
	}
	pid, ok := p.where.Local(ctx)
	if ok {
		r, err := p.fs.Process(pid)
		ok = err == nil
		p.pid, p.start, p.seen = pid, r.Start, p.seen || ok
	}
	if !ok {
		p.pid, p.tried = 0, time.Now()
	}
	return ok
}

// lookThere looks on another machine, and goes on after the end of ctx: what it finds then is for a later round.
func (p *place) lookThere(ctx context.Context) bool {
	if p.found == nil {
		wait := retryThere
		if errors.Is(p.why, host.ErrSlow) {
			wait = retryPlace
		}
		if time.Since(p.tried) < wait {
			return false
		}
		p.found = make(chan found, 1)
		go func(ctx context.Context, to chan<- found, f host.FS) {
			ctx, cancel := context.WithTimeout(ctx, lookTime)
			defer cancel()
			var x found
			x.err = unbroken(func() error {
				f = host.Within(f, ctx)
				pid, err := p.where.There(ctx, f)
				if err == nil {
					x.ProcReading, err = f.Process(pid)
				}
				return err
			})
			to <- x
		}(context.WithoutCancel(ctx), p.found, p.fs)
	}
	select {
	case x := <-p.found:
		p.found, p.why, p.pid, p.start = nil, x.err, x.PID, x.Start
		if p.why != nil {
			p.pid, p.start, p.tried = 0, 0, time.Now()
		}
		p.seen = p.seen || p.why == nil || errors.Is(p.why, host.ErrHidden) // in that case its machine it is
	case <-ctx.Done():
	}
	return p.pid != 0
}

// process returns the server's process and its machine's files; what names what is looked for.
func (p *place) process(ctx context.Context, at int64, what string) (f host.FS, pid int, err error) {
	if err := p.open(ctx, at); err != nil {
		return f, 0, err
	}
	if p.pid != 0 || p.look(ctx) {
		return p.fs, p.pid, nil
	}
	if p.seen && p.found == nil && (p.why == nil || errors.Is(p.why, host.ErrElsewhere)) {
		return f, 0, ended(os.ErrNotExist)
	}
	return f, 0, p.remote(what)
}

// remote is why a server's machine, or its process, is not seen.
func (p *place) remote(what string) error {
	switch {
	case p.where.Remote == nil:
		return remote(what)
	case p.found != nil:
		return &Problem{State: source.Slow, Reason: "the server is still looked for on the ssh host"}
	case errors.Is(p.why, host.ErrSlow):
		return p.gone(p.why)
	case errors.Is(p.why, host.ErrHidden):
		return &Problem{
			State: source.Denied, Reason: what + " is not visible to the ssh account: " + p.why.Error(),
			Fix: "mount /proc there with hidepid=0 or gid= of a group of the ssh account",
		}
	case errors.Is(p.why, host.ErrElsewhere), p.why == nil:
		reason := what + " of the server is not visible"
		if p.why != nil {
			reason += ": " + p.why.Error()
		}
		fix := "name the server's own host in ssh= to see it"
		if what == theMachine {
			fix = "name the server's own host in ssh=, or its node_exporter in node-exporter=, to see it"
		}
		return &Problem{State: source.Missing, Reason: reason, Fix: fix}
	}
	return &Problem{State: source.Failed, Reason: what + " is not visible through ssh: " + ReasonOf(p.why)}
}

// gone takes an error of reading the process: it may have ended. Its successor is then looked for in the next round.
func (p *place) gone(err error) error {
	if errors.Is(err, host.ErrSlow) {
		return &Problem{State: source.Slow, Reason: "the ssh host has not answered in time", Err: err}
	}
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

// WithMachine adds the sources of Machine to those of the server itself: first, for they cost nothing, but last where
// they are read over the network, so that the server is not read later because of them.
func WithMachine(w Where, datadir string, server []Entry) []Entry {
	if w.Remote != nil || w.NodeExporter != "" {
		return slices.Concat(server, Machine(w, datadir))
	}
	return slices.Concat(Machine(w, datadir), server)
}

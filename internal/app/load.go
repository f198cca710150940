package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/internal/workload/script"
	"github.com/dyno-perf/dyno/internal/workload/tpcc"
)

// Runs are loads on servers, whose figures are kept.
type Runs struct{ *App }

// Workloads returns everything that `load` can run: sysbench's family, the TPC-C-like load and the workloads of the
// faults.
func Workloads() []workload.Workload {
	return slices.Concat(workload.All(), []workload.Workload{tpcc.Workload{}}, faultLoads())
}

// Fault reports whether a workload is that of a planted fault, see Demo.
func Fault(name string) bool {
	_, err := FindFault(name)
	return err == nil
}

// Workload returns the one of that name; the error of an unknown one names the nearest.
func Workload(name string) (workload.Workload, error) {
	return workload.Find(Workloads(), name)
}

// Script returns the workload made of SQL files. A name may have @ and a whole number after it, the file's weight: each
// is run that often beside the others.
func Script(files []string) (workload.Workload, error) {
	var w script.Workload
	for _, f := range files {
		weight := 1
		if i := strings.LastIndexByte(f, '@'); i > 0 {
			if n, err := strconv.Atoi(f[i+1:]); err == nil {
				f, weight = f[:i], n
			}
		}
		text, err := readScript(f)
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		s, err := script.Parse(f, text)
		if err != nil {
			return nil, err
		}
		s.Weight = weight
		w.Scripts = append(w.Scripts, s)
	}
	return w, nil
}

// TableCache returns where the tables prepared on a target are kept as files, nil for targets whose files are not ours:
// for all but sandboxes.
func (a Runs) TableCache(text string) *load.Cache {
	if !strings.HasPrefix(text, "sandbox:") {
		return nil
	}
	return &load.Cache{Dir: filepath.Join(a.Home, "cache", "tables")}
}

// readScript reads a file, but not much more than a script may have: one that never ends was named by mistake.
func readScript(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 8<<20))
}

// Load runs a workload and keeps the run, also one that was stopped. The ticks come back as well as through the sink.
// notes are added to what a reader of the figures must know.
func (a Runs) Load(ctx context.Context, s load.Server, cfg load.Config, notes []string, sink func(loadresult.Tick)) (
	loadresult.Run, []loadresult.Tick, error,
) {
	return a.kept(ctx, notes, sink, func(sink func(loadresult.Tick)) (loadresult.Run, error) {
		return s.Run(ctx, cfg, sink)
	})
}

// Exec runs a command as a workload and keeps the run, as Load does.
func (a Runs) Exec(
	ctx context.Context, cfg load.ExecConfig, sink func(loadresult.Tick),
) (loadresult.Run, []loadresult.Tick, error) {
	if x, ok := familyOf(cfg.Server).(programs); ok {
		cfg.Programs = x.Programs()
	}
	for _, f := range families { // a command for one server has no use for the passwords of others
		if x, ok := f.(programs); ok {
			cfg.Programs.Secrets = append(slices.Clip(cfg.Programs.Secrets), x.Programs().Secrets...)
		}
	}
	return a.kept(ctx, nil, sink, func(sink func(loadresult.Tick)) (loadresult.Run, error) {
		return load.Exec(ctx, cfg, sink)
	})
}

// kept runs something and keeps its figures, if there are any.
func (a Runs) kept(
	ctx context.Context, notes []string, sink func(loadresult.Tick),
	do func(sink func(loadresult.Tick)) (loadresult.Run, error),
) (loadresult.Run, []loadresult.Tick, error) {
	var ticks []loadresult.Tick
	r, err := do(func(x loadresult.Tick) {
		ticks = append(ticks, x)
		sink(x)
	})
	r.Warnings = append(r.Warnings, notes...)
	if r.Started.IsZero() || r.Elapsed == 0 || err != nil && r.Total.Operations() == 0 { // nothing to look at later
		return r, ticks, err
	}
	keep := context.WithoutCancel(ctx)
	l, lerr := a.Ledger(keep)
	if lerr == nil {
		if r.ID, lerr = l.NewID(keep, ledger.RunID); lerr == nil {
			lerr = errors.Join(l.PutRun(keep, r), a.keepRun(keep, l, r, ticks))
		}
	}
	if lerr != nil {
		r.ID = ""
		err = errors.Join(err, fmt.Errorf("the run was not stored: %w", lerr))
	}
	return r, ticks, err
}

// keepRun stores the report of a run, which has its seconds too.
func (a Runs) keepRun(ctx context.Context, l *ledger.Ledger, r loadresult.Run, ticks []loadresult.Tick) error {
	doc := report.RunDocument(r, ticks, a.Version)
	b, err := report.Encode(&doc)
	if err != nil {
		return err
	}
	return l.Documents.Put(ctx, string(doc.Kind), r.ID, r.Target, "", b)
}

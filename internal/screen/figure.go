package screen

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// none is how a figure is shown that was not observed. It is never 0.
const none = "–"

// figure is a headline value with how it is written.
type figure struct {
	label string
	name  string // of the vital
	write func(float64) string
	alarm func(float64) role // nil: never
}

func perSecond(v float64) string { return unit.Count(v) + "/s" }
func bytesRate(v float64) string { return unit.Bytes(v) + "/s" }
func cores(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'f', 2, 64) + " cores"
	}
	return unit.Count(v) + " cores"
}

// above returns a warning from a and an alarm from b on.
func above(a, b float64) func(float64) role {
	return func(v float64) role {
		switch {
		case v >= b:
			return bad
		case v >= a:
			return warn
		}
		return plain
	}
}

// write returns the vital as text, with the role that its value deserves.
func (f figure) of(s *state.State) span {
	v, ok := f.get(s).Get()
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return span{none, dim}
	}
	r := plain
	if f.alarm != nil {
		r = f.alarm(v)
	}
	return span{f.write(v), r}
}

// get returns the value. Sessions that wait for locks of any kind are counted, which the server does for row locks
// alone.
func (f figure) get(s *state.State) known.Value[float64] {
	v := s.Get(f.name)
	if f.name != state.RowLockWaiting {
		return v
	}
	if n := float64(len(waiting(s)) + s.Left.Waits); n > v.Or(0) {
		return known.Of(n)
	}
	return v
}

// show returns the labelled figure.
func (f figure) show(s *state.State) line {
	return line{{f.label + " ", dim}, f.of(s)}
}

// activity are the figures of who is busy, work those of what the engine does. The most telling ones come first.
var (
	activity = []figure{
		{"running", state.Running, unit.Count, nil},
		{"lock waits", state.RowLockWaiting, unit.Count, above(1, 5)},
		{"connected", state.Connected, unit.Count, nil},
		{"commits", state.TPS, perSecond, nil},
		{"slow", state.SlowQueries, perSecond, above(1, 1e9)},
		{"lag", state.ReplicaLag, unit.Seconds, above(5, 60)},
		{"aborted", state.Aborted, perSecond, above(1, 100)},
		{"tmp on disk", state.TmpDisk, perSecond, nil},
		{"in", state.BytesIn, bytesRate, nil},
		{"out", state.BytesOut, bytesRate, nil},
	}
	work = []figure{
		{"rows read", state.RowsRead, perSecond, nil},
		{"written", state.RowsWritten, perSecond, nil},
		{"pool misses", state.PoolMisses, perSecond, nil},
		{"history", state.History, unit.Count, above(1e5, 1e6)},
		{"redo", state.RedoBytes, bytesRate, nil},
		{"dirty", state.PoolDirty, unit.Percent, above(0.75, 0.9)},
		{"checkpoint age", state.Checkpoint, unit.Bytes, nil},
		{"free", state.PoolFree, unit.Percent, nil},
		{"row lock waits", state.RowLockWaits, perSecond, nil},
	}
	machine = []figure{
		{"busy", state.HostCPUBusy, unit.Percent, above(0.8, 0.95)},
		{"system", state.HostCPUSystem, unit.Percent, nil},
		{"I/O wait", state.HostIOWait, unit.Percent, above(0.2, 0.5)},
		{"steal", state.HostSteal, unit.Percent, above(0.02, 0.1)},
		{"CPUs", state.HostCPUs, unit.Count, nil},
		serverCPU,
		{"server memory", state.ServerRSS, unit.Bytes, nil},
		{"memory left", state.MemAvailable, unit.Bytes, nil},
		{"disk reads", state.DiskReads, perSecond, nil},
		{"disk writes", state.DiskWrites, perSecond, nil},
		{"disk read", state.DiskReadBytes, bytesRate, nil},
		{"disk written", state.DiskWriteBytes, bytesRate, nil},
		{"disk busy", state.DiskBusy, unit.Percent, above(0.8, 0.98)},
		{"CPU pressure", state.PressureCPU, unit.Percent, above(0.2, 0.5)},
		{"I/O pressure", state.PressureIO, unit.Percent, above(0.2, 0.5)},
		{"memory pressure", state.PressureMemory, unit.Percent, above(0.05, 0.2)},
	}
)

// ofPostgres are the labels of figures that are called otherwise on PostgreSQL; those with none do not exist there.
var ofPostgres = map[string]string{
	state.PoolMisses: "block reads", state.RedoBytes: "WAL", state.TmpDisk: "temporary files",
	state.SlowQueries: "", state.BytesIn: "", state.BytesOut: "", state.History: "", state.PoolDirty: "",
	state.PoolFree: "", state.RowLockWaits: "",
}

// isPostgres reports whether a state is of a PostgreSQL.
func isPostgres(s *state.State) bool {
	flavor, _, _ := strings.Cut(s.Server, " ")
	return dbms.Flavor(flavor).IsPostgres()
}

// figures returns those of a list that the server can have, as they are called there.
func figures(s *state.State, fs []figure) []figure {
	if !isPostgres(s) {
		return fs
	}
	var out []figure
	for _, f := range fs {
		label, other := ofPostgres[f.name]
		if other {
			f.label = label
		}
		if f.label != "" {
			out = append(out, f)
		}
	}
	return out
}

// flow puts labelled figures behind each other, as many as go into rows lines of n cells; known ones first.
func flow(s *state.State, fs []figure, n, rows int) []line {
	fs = figures(s, fs)
	var out []line
	var l line
	put := func(f figure) bool {
		x := f.show(s)
		if len(l) > 0 && l.cells()+3+x.cells() > n {
			if len(out)+1 == rows {
				return false
			}
			out, l = append(out, l), nil
		}
		if len(l) > 0 {
			l = l.add(plain, "   ")
		}
		l = append(l, x...)
		return true
	}
	for _, want := range []bool{true, false} {
		for _, f := range fs {
			if s.Get(f.name).OK() == want && !put(f) {
				continue // a shorter one may still go in
			}
		}
	}
	if len(l) > 0 {
		out = append(out, l)
	}
	return out
}

// seconds writes how long something has lasted.
func seconds(v float64) string {
	switch {
	case v < 0:
		return none // clocks that disagree
	case v < 1:
		return unit.Seconds(v)
	case v < 10:
		return strconv.FormatFloat(v, 'f', 1, 64) + " s"
	case v < 3600:
		return fmt.Sprintf("%d:%02d", int(v)/60, int(v)%60)
	case v < 86400:
		return fmt.Sprintf("%d:%02d:%02d", int(v)/3600, int(v)/60%60, int(v)%60)
	}
	return unit.Seconds(v)
}

// shown writes a value that may be unknown.
func shown[T any](v known.Value[T], write func(T) string) string {
	x, ok := v.Get()
	if !ok {
		return none
	}
	return write(x)
}

func count[T int | uint64 | float64](v T) string { return unit.Count(float64(v)) }
func size(v uint64) string                       { return unit.Bytes(float64(v)) }

// clock writes a moment: the time alone when it is of the same day as now.
func clock(t, now time.Time, loc *time.Location) string {
	t, now = t.In(loc), now.In(loc)
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

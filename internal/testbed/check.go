package testbed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Needs is what an experiment will take, and what keeps it from running.
type Needs struct {
	Servers  []sandbox.Server // builds it runs on
	Disk     int64            // bytes that data sets and sandboxes will take beside what is there, at most
	DiskFree int64
	Memory   int64 // bytes of the variant that takes most
	MemFree  int64
	Problems []string // nothing runs with them
	Warnings []string
}

// Check tells before the first run what would fail later. It starts no server.
func (s *Testbed) Check(ctx context.Context, p plan.Plan, vs []plan.Variant) (n Needs, err error) {
	said := map[string]bool{}
	problem := func(format string, args ...any) {
		if t := fmt.Sprintf(format, args...); !said[t] {
			said[t] = true
			n.Problems = append(n.Problems, t)
		}
	}
	warn := func(format string, args ...any) {
		if t := fmt.Sprintf(format, args...); !said[t] {
			said[t] = true
			n.Warnings = append(n.Warnings, t)
		}
	}
	if s.cpus == nil {
		allowed, err := host.Allowed()
		if err != nil {
			return n, err
		}
		server, client, err := Share(p.Placement, allowed)
		if err != nil {
			problem("%v", err)
		} else if p.Placement.Mode != plan.Shared && p.Placement.Mode != plan.Free && len(allowed) < 2 {
			warn("there is one CPU only: server and client share it, and each change of the client changes the figures")
		}
		_, _ = server, client
	}
	places, sets := map[string]int64{}, map[string]int64{}
	checked := map[string]bool{}
	failed := map[string]string{} // variants that cannot be measured, and why
	// of the largest loop device: its whole size must be free when it is made, and most of it stays so
	spare := int64(0)
	var jobs []*job
	for _, v := range vs {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		j, err := s.job(v, p)
		if err != nil {
			problem("%v", err)
			continue
		}
		jobs = append(jobs, j)
		if !slices.ContainsFunc(n.Servers, func(x sandbox.Server) bool { return x.Path == j.server.Path }) {
			n.Servers = append(n.Servers, j.server)
		}
		key := j.server.Path
		for _, k := range sortedKeys(j.config.Settings) {
			key += "\n" + k + "=" + j.config.Settings[k]
		}
		if !checked[key] {
			checked[key] = true
			if err := s.Yard.CheckSettings(ctx, j.server, j.config.Settings); err != nil {
				problem("%s (%s): %s", v.Key, j.servers.Name(), describe(err))
			}
		}
		size := dataSize(j)
		places[j.place] = max(places[j.place], size)
		spare = max(spare, j.bytes-size)
		if j.data != "" {
			if _, ok := s.Yard.HasData(j.data); !ok {
				sets[j.data] = max(sets[j.data], size)
			}
		}
		need := memory(j)
		n.Memory = max(n.Memory, need)
		if limit := j.config.Limits.Memory; limit > 0 && need > int64(limit) {
			warn("%s: its server needs about %s of memory and is limited to %s: it may be killed", v.Key,
				unit.Bytes(float64(need)), unit.Bytes(float64(limit)))
		}
		if n := j.servers.Needs(j.config.Settings); j.config.Run.Threads > n.Sessions {
			problem("%s: %d threads, but %s is %d: raise it in settings", v.Key, j.config.Run.Threads, n.SessionsKey,
				n.Sessions)
		}
		fails := func(err error) { failed[v.Key] = describe(err) }
		if j.config.Filesystem != "" && os.Geteuid() != 0 {
			problem("%s: filesystem %s needs a loop device, which only root may make", v.Key, j.config.Filesystem)
		} else if j.config.Filesystem != "" {
			if err := sandbox.CheckFilesystem(j.config.Filesystem, j.bytes); err != nil {
				fails(err)
			}
		}
		if j.config.CPUs != "" {
			cpus, err := host.ParseCPUs(j.config.CPUs)
			if err == nil {
				err = host.CheckCPUs(cpus)
			}
			if err != nil {
				fails(err)
			}
		}
		if j.config.Limits.Any() && os.Geteuid() != 0 {
			warn("limits may not be in effect: only root, or the owner of a delegated control group, can set them")
		}
	}
	s.checkSet(ctx, jobs, problem)
	if p.Trials.DropCaches && os.Geteuid() != 0 {
		problem("drop_caches: only root may drop the kernel's caches")
	}
	// What cannot be measured leaves the others to be.
	left := slices.ContainsFunc(vs, func(v plan.Variant) bool {
		return failed[v.Key] == "" &&
			failed[v.Baseline] == ""
	})
	for _, v := range vs {
		switch why := failed[v.Key]; {
		case why == "":
		case left:
			warn("%s will fail: %s", v.Key, why)
		default:
			problem("%s: %s", v.Key, why)
		}
	}
	n.Disk = spare
	for _, b := range places {
		n.Disk += b
	}
	for _, b := range sets {
		n.Disk += b
	}
	if free, err := freeSpace(s.Yard.Home); err == nil {
		n.DiskFree = int64(free)
		if n.Disk > n.DiskFree {
			problem("the plan needs about %s of disk in %s and %s are free", unit.Bytes(float64(n.Disk)), s.Yard.Home,
				unit.Bytes(float64(n.DiskFree)))
		}
	}
	if r, err := host.Read(); err == nil {
		room, _ := host.MemoryRoom() // what cannot be read limits nothing
		if free, whose, ok := lesser(r.Memory.Available, room); ok {
			n.MemFree = free
			if n.Memory > free && whose != "" { // what a group holds beside its processes' memory is not all told
				warn("a server of the plan needs about %s of memory and %s are available%s: it may be killed",
					unit.Bytes(float64(n.Memory)), unit.Bytes(float64(free)), whose)
			} else if n.Memory > free {
				problem("a server of the plan needs about %s of memory and %s are available",
					unit.Bytes(float64(n.Memory)), unit.Bytes(float64(free)))
			}
		}
	}
	return n, nil
}

// checkSet looks for settings, to be changed on running servers, that these do not have. Where a family cannot tell for
// certain it is a problem that servers of another family in the plan know the setting.
func (s *Testbed) checkSet(ctx context.Context, jobs []*job, problem func(format string, args ...any)) {
	knows := func(j *job, name, value string) error {
		return s.Yard.CheckSettings(ctx, j.server, map[string]string{name: value})
	}
	for _, j := range jobs {
		others := slices.DeleteFunc(slices.Clone(jobs), func(x *job) bool {
			return x.servers.Name() == j.servers.Name()
		})
		if !j.servers.Changeable() && len(others) == 0 {
			continue
		}
		for _, name := range sortedKeys(j.config.Set) {
			value := j.config.Set[name]
			err := knows(j, name, value)
			if err != nil && (j.servers.Changeable() || slices.ContainsFunc(others, func(x *job) bool {
				return knows(x, name, value) == nil
			})) {
				problem("%s (%s): set: %s", j.key, j.servers.Name(), describe(err))
			}
		}
	}
}

// lesser returns the memory that servers may take of what the machine has available and of what its control groups
// leave this process. whose says so where it is the latter.
func lesser(machine, groups known.Value[uint64]) (bytes int64, whose string, ok bool) {
	free, ok := machine.Get()
	if room, limited := groups.Get(); limited && (!ok || room < free) {
		return int64(room), " within the control group that this program runs in", true
	}
	return int64(free), "", ok
}

// freeSpace asks about the nearest directory that exists, bytes.
func freeSpace(path string) (uint64, error) {
	for {
		free, _, err := platform.Space(path)
		above := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || above == path {
			return free, err
		}
		path = above
	}
}

const (
	emptyDir   = 200 << 20 // of a server without data, with its logs
	perRow     = 260       // bytes of a row with its indexes, roughly, when it is no wider than sysbench's
	serverBase = 300 << 20 // memory of a server beside its caches
	perSession = 1 << 20
)

// dataSize guesses what a data directory takes.
func dataSize(j *job) int64 {
	n := int64(emptyDir)
	if j.fill != nil {
		for _, t := range j.fill.Tables {
			n += int64(t.Rows) * perRow
		}
	}
	return n + j.servers.Needs(j.config.Settings).Disk
}

// memory guesses what a server takes.
func memory(j *job) int64 {
	return serverBase + int64(j.config.Run.Threads)*perSession + j.servers.Needs(j.config.Settings).Memory
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/limit"

	"github.com/prometheus/procfs"
)

// Group is a control group of Dyno's own that holds one process to limits. Its name is known before it is made, so that
// it can be written down first and found again whatever happens. Cgroup v1 has one for each controller.
type Group struct {
	Version     int      `json:"version"`     // 1 or 2
	Controllers []string `json:"controllers"` // "cpu", "memory", "io" (which v1 calls blkio)
	Dir         string   `json:"dir"`
	Top         string   `json:"top"` // where the hierarchy is mounted
}

// groupPrefix begins the names of all groups of ours, and no other is ever removed.
const groupPrefix = "dyno-"

// controllers returns what the limits need.
func controllers(l limit.Limits) (c []string) {
	if l.CPU != 0 {
		c = append(c, "cpu")
	}
	if l.Memory != 0 {
		c = append(c, "memory")
	}
	if l.IO() {
		c = append(c, "io")
	}
	return c
}

// PlanGroups says which groups must be made so that a process can be held to limits, and for each controller ("cpu",
// "memory", "io") that cannot be had here why, and what would help. It changes nothing. Groups lie where this program's
// own is, so that what limits it limits the process too; under cgroup v2, where a group that has processes cannot be
// divided, beside it.
func PlanGroups(name string, l limit.Limits) ([]Group, map[string]string) {
	return FS{}.planGroups(os.Getpid(), name, l)
}

func (f FS) planGroups(pid int, name string, l limit.Limits) (groups []Group, lacking map[string]string) {
	need := controllers(l)
	lacking = map[string]string{}
	groupsOf, mounts, err := cgroupsOf(f, pid)
	if err != nil {
		for _, c := range need {
			lacking[c] = err.Error()
		}
		return nil, lacking
	}
	var unified []string // dirs of v2, our own first
	for _, g := range groupsOf {
		if g.HierarchyID == 0 && len(g.Controllers) == 0 {
			unified = groupDirs(g, true, mounts)
		}
	}
	var inV2 []string
	for _, c := range need {
		v1 := c
		if c == "io" {
			v1 = "blkio"
		}
		i := slices.IndexFunc(groupsOf, func(g procfs.Cgroup) bool { return slices.Contains(g.Controllers, v1) })
		var dirs []string
		if i >= 0 {
			dirs = groupDirs(groupsOf[i], false, mounts)
		}
		if len(dirs) == 0 {
			inV2 = append(inV2, c)
			continue
		}
		parent := dirs[0]
		if why := denied(f.path(parent)); why != "" {
			lacking[c] = fmt.Sprintf("no control group can be made in %s: %s; run dyno as root, or let an "+
				"administrator give you that directory", parent, why)
			continue
		}
		groups = append(groups, Group{1, []string{c}, f.path(parent, groupPrefix+name), f.path(dirs[len(dirs)-1])})
	}
	if len(inV2) > 0 {
		g, ok := planUnified(f, unified, name, inV2, lacking)
		if ok {
			groups = append(groups, g)
		}
	}
	return groups, lacking
}

func cgroupsOf(f FS, pid int) ([]procfs.Cgroup, []*procfs.MountInfo, error) {
	groups, err := groupLines(f, pid)
	if err != nil {
		return nil, nil, fmt.Errorf("read control groups of process %d: %w", pid, gone(err))
	}
	mounts, err := mountsOf(f)
	if err != nil {
		return nil, nil, fmt.Errorf("read mounts: %w", err)
	}
	return groups, mounts, nil
}

const delegate = "run dyno as root, or as `systemd-run --user --scope -p Delegate=yes dyno …`"

// planUnified chooses the place of a v2 group: below the nearest group above our own that may have children with the
// controllers, all of them if there is one. Rules: cgroup-v2.rst, "No Internal Process Constraint" and "Delegation
// Containment".
func planUnified(f FS, dirs []string, name string, need []string, lacking map[string]string) (Group, bool) {
	if len(dirs) == 0 {
		for _, c := range need {
			lacking[c] = "no control groups with the controller " + c + " are mounted here; mount cgroup2 at " +
				"/sys/fs/cgroup"
		}
		return Group{}, false
	}
	top := dirs[len(dirs)-1]
	var best []string
	var where, why string
	reasons := map[string]string{}
	for i, dir := range dirs {
		at := f.path(dir)
		if reason := divisible(at); reason != "" {
			if i <= 1 { // that our own holds processes is no news, where there is one above it
				why = fmt.Sprintf("%s: %s", dir, reason)
			}
			continue
		}
		var have []string
		for _, c := range need {
			if reason := canEnable(f, dirs[i:], c); reason == "" {
				have = append(have, c)
			} else if reasons[c] == "" {
				reasons[c] = reason
			}
		}
		if len(have) > len(best) {
			best, where = have, at
		}
		if len(have) == len(need) {
			break
		}
	}
	for _, c := range need {
		if slices.Contains(best, c) {
			continue
		}
		lacking[c] = reasons[c]
		if lacking[c] == "" {
			lacking[c] = fmt.Sprintf("no control group can be made in %s; %s", why, delegate)
		}
	}
	if len(best) == 0 {
		return Group{}, false
	}
	if slices.Contains(best, "io") && !slices.Contains(best, "memory") {
		// writes through the page cache are charged by both together
		for i, dir := range dirs {
			if f.path(dir) == where && canEnable(f, dirs[i:], "memory") == "" {
				best = append(best, "memory")
			}
		}
	}
	return Group{2, best, filepath.Join(where, groupPrefix+name), f.path(top)}, true
}

// divisible returns why a v2 group cannot have a child that holds our process, "" when it can.
func divisible(dir string) string {
	if kind, notRoot := word(dir + "/cgroup.type"); notRoot { // the root of all has no such file, and may do both
		if kind != "domain" {
			return "it is of the type " + kind
		}
		if procs, ok := word(dir + "/cgroup.procs"); !ok || procs != "" {
			return "it has processes of its own"
		}
	}
	if why := denied(dir); why != "" {
		return why
	}
	return denied(dir + "/cgroup.procs") // of the common ancestor: who moves a process must be able to write it
}

// canEnable returns why children of dirs[0] cannot have a controller, "" when they can. dirs goes on to the top.
func canEnable(f FS, dirs []string, controller string) string {
	if !contains(f.path(dirs[len(dirs)-1], "cgroup.controllers"), controller) {
		return "the control groups of this machine have no controller " + controller + "; run dyno where the kernel " +
			"and the container offer it"
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		file := f.path(dirs[i], "cgroup.subtree_control")
		if contains(file, controller) {
			continue
		}
		if why := denied(file); why != "" {
			return fmt.Sprintf("the controller %s is not handed down below %s: %s; run dyno as root, or let an "+
				"administrator set Delegate=cpu memory io for user@.service", controller, dirs[i], why)
		}
	}
	return ""
}

func contains(file, name string) bool {
	s, _ := word(file)
	return slices.Contains(strings.Fields(s), name)
}

// Make makes the group, which may be there.
func (g Group) Make() error {
	if g.Version == 2 {
		var above []string
		for d := filepath.Dir(g.Dir); ; d = filepath.Dir(d) {
			above = append(above, d)
			if d == g.Top || d == "/" {
				break
			}
		}
		for _, d := range slices.Backward(above) {
			for _, c := range g.Controllers {
				if file := d + "/cgroup.subtree_control"; !contains(file, c) {
					if err := put(file, "+"+c); err != nil {
						return fmt.Errorf("make control group: %w", err)
					}
				}
			}
		}
	}
	if err := os.Mkdir(g.Dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make control group: %w", err)
	}
	return nil
}

// put writes a file of the kernel in one piece, as it wants it.
func put(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Join moves a process with all its threads into the group. What it starts afterwards is in it too. Memory that it has
// already stays charged to the group it was in.
func (g Group) Join(pid int) error {
	if err := put(g.Dir+"/cgroup.procs", strconv.Itoa(pid)); err != nil {
		return fmt.Errorf("move process %d into control group: %w", pid, gone(err))
	}
	return nil
}

// Holds reports whether the process is in the group.
func (g Group) Holds(pid int) bool { return contains(g.Dir+"/cgroup.procs", strconv.Itoa(pid)) }

// Set writes the limits that the group's controllers know, also those that are none, so that nothing is left of earlier
// ones. device is the number of a whole block device, "254:0"; with "" those of devices stay as they are. It returns an
// error for each limit, by its name, that could not be set.
func (g Group) Set(l limit.Limits, device string) map[string]error {
	errs := map[string]error{}
	for _, w := range g.writes(l, device) {
		if err := put(filepath.Join(g.Dir, w.file), w.text); err != nil {
			for _, n := range w.names {
				errs[n] = errors.Join(errs[n], err)
			}
		}
	}
	return errs
}

// Limits reads what the group is held to. device is as in Set.
func (g Group) Limits(device string) (limit.Limits, error) {
	if _, err := os.Stat(g.Dir); err != nil {
		return limit.Limits{}, fmt.Errorf("read control group: %w", err)
	}
	return g.read(func(file string) string {
		s, _ := word(filepath.Join(g.Dir, file)) // what is missing limits nothing
		return s
	}, device), nil
}

// Remove removes the group, which may be gone. Its process must have ended; the kernel may take a moment to notice.
func (g Group) Remove(ctx context.Context) error {
	if !strings.HasPrefix(filepath.Base(g.Dir), groupPrefix) {
		return fmt.Errorf("remove control group %s: it is not one of dyno's", g.Dir)
	}
	for end := time.Now().Add(5 * time.Second); ; {
		err := syscall.Rmdir(g.Dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(end) {
			if ps, _ := word(g.Dir + "/cgroup.procs"); ps != "" {
				return fmt.Errorf("remove control group %s: %w: it holds the processes %s", g.Dir, err,
					strings.Join(strings.Fields(ps), ", "))
			}
			return fmt.Errorf("remove control group %s: %w", g.Dir, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// DeviceNumber returns the number by which control groups know a whole block device: "254:0" for "vda".
func DeviceNumber(device string) (string, error) { return FS{}.deviceNumber(device) }

func (f FS) deviceNumber(device string) (string, error) {
	b, err := os.ReadFile(f.path("sys/block", strings.ReplaceAll(device, "/", "!"), "dev"))
	if err != nil {
		return "", fmt.Errorf("find number of device %s: %w", device, err)
	}
	return strings.TrimSpace(string(b)), nil
}

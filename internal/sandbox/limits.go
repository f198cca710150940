package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/limit"
)

// held is what a record knows of a server's limits.
type held struct {
	Wanted  limit.Limits      `json:"wanted,omitzero"`
	Groups  []host.Group      `json:"groups,omitempty"`  // made or about to be
	Late    []string          `json:"late,omitempty"`    // controllers that the server came under after it had begun
	Lacking map[string]string `json:"lacking,omitempty"` // controller → why there is no group with it
	Refused map[string]string `json:"refused,omitempty"` // limit → what the kernel said
	Disk    string            `json:"disk,omitempty"`    // whole block device that holds the data
	Number  string            `json:"number,omitempty"`  // of the disk
}

// Limit replaces the limits of a running server, all of them, and tells what became of each. What is not permitted here
// is not in force and says why, it is no error. Its causes are ErrNotFound, ErrStopped, ErrBusy and a limit that cannot
// be.
//
// A server with a CPU limit is one group to the scheduler, however many threads it has: on CPUs that it shares with
// other busy programs it gets less than its limit grants. Keep the load on other CPUs.
func (y *Yard) Limit(ctx context.Context, name string, l limit.Limits) ([]limit.State, error) {
	const op = "limit sandbox"
	if err := l.Check(); err != nil {
		return nil, wrap(op, name, err)
	}
	var s []limit.State
	err := y.changeLimits(ctx, name, func(dir string, r *record) error {
		if err := r.limit(dir, l); err != nil {
			return err
		}
		s = r.limits(dir)
		return nil
	})
	return s, wrap(op, name, err)
}

// limit makes what groups the limits need and are not there, and writes the limits into all. With a running process it
// joins the new ones; else join is called when there is one.
func (r *record) limit(dir string, l limit.Limits) error {
	h := &r.Held
	was := h.Number
	h.Wanted, h.Refused, h.Lacking, h.Disk, h.Number = l, nil, nil, "", ""
	if l.IO() || h.group("io") != nil { // a limit that is to go is a disk's too
		place, err := host.DiskOf(filepath.Join(dir, "data"))
		if err == nil {
			h.Disk = place.Device
			h.Number, err = host.DeviceNumber(place.Device)
		}
		if err != nil {
			h.lack("io", err.Error()+"; put the data on a disk, or on a loop device with --filesystem")
		}
	}
	plan, lacking := host.PlanGroups(groupName(dir), l)
	for c, why := range lacking {
		if h.group(c) == nil {
			h.lack(c, why)
		}
	}
	if g := h.group("io"); g != nil && was != "" && was != h.Number {
		// of a disk that is gone the limits are gone with it
		host.Group{Version: g.Version, Controllers: []string{"io"}, Dir: g.Dir}.Set(limit.Limits{}, was)
	}
	plan = h.adopt(plan)
	if len(plan) > 0 {
		h.Groups = append(h.Groups, plan...)
		if err := r.save(dir); err != nil { // before they are made: whoever removes the sandbox finds them
			return err
		}
		for _, g := range plan {
			if err := g.Make(); err != nil {
				h.drop(g, err)
			}
		}
	}
	for _, g := range h.Groups {
		for name, err := range g.Set(l, h.Number) {
			h.refuse(name, err)
		}
	}
	if !r.Process.Alive() {
		return nil
	}
	joined := slices.DeleteFunc(plan, func(g host.Group) bool {
		return !slices.ContainsFunc(h.Groups, func(o host.Group) bool { return o.Dir == g.Dir })
	})
	for _, g := range joined {
		h.Late = append(h.Late, g.Controllers...)
	}
	h.join(joined, r.Process.PID)
	if len(joined) == 0 {
		return nil
	}
	for _, child := range host.Children(r.Process.PID) { // what it starts from here on is in it already
		for _, g := range joined {
			if err := g.Join(child); err != nil && !ended(err) {
				return err
			}
		}
	}
	return nil
}

// adopt returns the groups of a plan that must be made. Those that a running server is in serve already; and as it can
// be in one of cgroup v2 only, that one gets the controllers it lacks.
func (h *held) adopt(plan []host.Group) (fresh []host.Group) {
	for _, g := range plan {
		g.Controllers = slices.DeleteFunc(slices.Clone(g.Controllers), func(c string) bool { return h.group(c) != nil })
		i := slices.IndexFunc(h.Groups, func(o host.Group) bool { return o.Version == 2 && g.Version == 2 })
		switch {
		case len(g.Controllers) == 0:
		case i >= 0:
			h.extend(&h.Groups[i], g.Controllers)
		default:
			fresh = append(fresh, g)
		}
	}
	return fresh
}

// extend hands controllers down to a group of cgroup v2 that has a process already.
func (h *held) extend(g *host.Group, controllers []string) {
	for _, c := range controllers {
		more := *g
		more.Controllers = []string{c}
		if err := more.Make(); err != nil {
			h.miss(more, err)
			continue
		}
		g.Controllers = append(g.Controllers, c)
		h.Late = append(h.Late, c)
	}
}

// enclose puts a process that is about to become the server under its limits.
func (r *record) enclose(pid int) { r.Held.join(slices.Clone(r.Held.Groups), pid) }

func (h *held) join(groups []host.Group, pid int) {
	for _, g := range groups {
		if err := g.Join(pid); err != nil {
			h.drop(g, err)
		}
	}
}

// drop gives up a group that cannot be used.
func (h *held) drop(g host.Group, why error) {
	h.miss(g, why)
	if err := g.Remove(context.Background()); err != nil {
		return // Down and Remove try again
	}
	h.Groups = slices.DeleteFunc(h.Groups, func(o host.Group) bool { return o.Dir == g.Dir })
}

// miss notes why a group's controllers cannot be had.
func (h *held) miss(g host.Group, why error) {
	text := why.Error()
	if errors.Is(why, os.ErrPermission) {
		text += "; run dyno as root, or as `systemd-run --user --scope -p Delegate=yes dyno …`"
	}
	for _, c := range g.Controllers {
		h.lack(c, text)
	}
}

func (h *held) lack(controller, why string) {
	if h.Lacking == nil {
		h.Lacking = map[string]string{}
	}
	h.Lacking[controller] = why
}

func (h *held) refuse(name string, why error) {
	if h.Refused == nil {
		h.Refused = map[string]string{}
	}
	h.Refused[name] = why.Error()
}

// group returns the group with a controller.
func (h *held) group(controller string) *host.Group {
	for i, g := range h.Groups {
		if slices.Contains(g.Controllers, controller) {
			return &h.Groups[i]
		}
	}
	return nil
}

// free removes the groups of a server that has ended.
func (h *held) free(ctx context.Context) error {
	var errs []error
	h.Groups = slices.DeleteFunc(h.Groups, func(g host.Group) bool {
		err := g.Remove(ctx)
		errs = append(errs, err)
		return err == nil
	})
	h.Late = nil
	return inline(errs)
}

// groupName is unlike that of any other sandbox on the machine, in whatever yard.
func groupName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Base(dir) + "-" + hex.EncodeToString(sum[:4])
}

// limits tells what has become of the limits, as the kernel has them now.
func (r record) limits(dir string) []limit.State {
	states := r.Held.Wanted.Wanted()
	alive := r.Process.Alive()
	for i := range states {
		s := &states[i]
		if !alive {
			s.Reason = "the server does not run"
			continue
		}
		r.tell(dir, s)
	}
	return states
}

func (r record) tell(dir string, s *limit.State) {
	h := r.Held
	controller := "io"
	if s.Name == limit.CPU || s.Name == limit.Memory {
		controller = s.Name
	}
	g := h.group(controller)
	if why, ok := h.Lacking[controller]; ok || g == nil {
		s.Reason = cmp.Or(why, "the server is in no control group for it; set it again with `dyno sandbox limit`")
		return
	}
	if why, ok := h.Refused[s.Name]; ok {
		s.Reason = "the kernel refused it: " + why
		return
	}
	got, err := g.Limits(h.Number)
	switch {
	case err != nil:
		s.Reason = err.Error() + "; set it again with `dyno sandbox limit`"
		return
	case !host.Equal(s.Name, h.Wanted, got):
		s.Reason = fmt.Sprintf("%s/%s was changed by another program; set it again with `dyno sandbox limit`", g.Dir,
			g.File(s.Name))
		return
	case !g.Holds(r.Process.PID):
		s.Reason = fmt.Sprintf("the server was moved out of %s; restart it", g.Dir)
		return
	}
	s.How = fmt.Sprintf("cgroup v%d %s", g.Version, g.File(s.Name))
	if controller == "io" {
		s.How += " of " + h.Disk
	}
	switch {
	case s.Name == limit.Memory && slices.Contains(h.Late, "memory"):
		s.Reason = "memory that the server used before it was set does not count; start the server with it"
		return
	case s.Name == limit.WriteBPS || s.Name == limit.WriteIOPS:
		if g.Version == 2 && slices.Contains(g.Controllers, "memory") {
			break // writes through the page cache are charged to who made them
		}
		if s.Reason = r.Server.Maker.Cached(r.Process.PID, filepath.Join(dir, "data")); s.Reason != "" {
			return
		}
		s.How += ", direct and synced writes" // the binary log between two syncs is in neither
	}
	s.InForce = true
}

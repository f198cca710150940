package apply

import (
	"context"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
)

// setKernel changes a setting of the kernel that the server runs on, when that is this machine.
type setKernel struct {
	a  finding.Action
	fs host.FS
}

func (c *setKernel) subject() string         { return "kernel's setting " + c.a.Variable }
func (c *setKernel) table() schema.Ref       { return schema.Ref{} }
func (c *setKernel) applied() finding.Action { return c.a }

func (c *setKernel) check(ctx context.Context, t *target.Target, p *change.Preview, o objections) error {
	p.Words = fmt.Sprintf("Set the kernel's %s to %s, for all programs of this machine, until the next reboot.",
		c.a.Variable, c.a.Value)
	if _, ok := t.LocalPID(ctx); !ok {
		o.block("%s runs on another machine: set %s there", t, c.a.Variable)
		return nil
	}
	if !settable(c.a.Variable) {
		o.block("%s is not one of the settings that Dyno changes", c.a.Variable)
		return nil
	}
	was, err := c.fs.Setting(c.a.Variable)
	if err != nil {
		o.block("%v", err)
		return nil
	}
	p.Action.Was = was
	p.Action.SQL, p.Action.Undo = kernelLine(c.a.Variable, c.a.Value), kernelLine(c.a.Variable, was)
	p.Words = fmt.Sprintf("Set the kernel's %s from %s to %s, for all programs of this machine, until the next reboot.",
		c.a.Variable, was, c.a.Value)
	if was == c.a.Value {
		o.block("%s is already %s", c.a.Variable, was)
	}
	if !c.fs.MaySet(c.a.Variable) {
		o.block("only root may set %s, and in a container often not even root: %s", c.a.Variable, p.Action.SQL)
	}
	o.warn("a reboot resets it: to keep it, put it into a file in /etc/sysctl.d/")
	return nil
}

// settable lists what may be changed for the sake of a server: memory, its huge pages, the disks' queues, files and
// connections.
func settable(name string) bool {
	for _, front := range []string{
		"vm.", "fs.", "net.core.", "net.ipv4.tcp_", "kernel.numa_balancing",
		"kernel/mm/transparent_hugepage/", "block/",
	} {
		if strings.HasPrefix(name, front) {
			return true
		}
	}
	return false
}

// kernelLine is the command of a shell that sets it, for people.
func kernelLine(name, value string) string {
	if host.IsSysctl(name) {
		return "sysctl -w " + name + "=" + value
	}
	return "echo " + value + " > /sys/" + name
}

func (c *setKernel) apply(context.Context, *target.Target, progress.Sink, func(string)) error {
	if err := c.fs.SetSetting(c.a.Variable, c.a.Value); err != nil {
		return err
	}
	now, err := c.fs.Setting(c.a.Variable)
	c.a.Now = now
	return err
}

// adjusted takes any value for what the kernel made of this one's: taking it back sets the one of before.
func (c *setKernel) adjusted(context.Context, *target.Target) (finding.Action, bool, error) {
	now, err := c.fs.Setting(c.a.Variable)
	a := c.a
	a.Now = now
	return a, err == nil, err
}

func (c *setKernel) revert(context.Context, *target.Target, progress.Sink, func(string)) error {
	return c.fs.SetSetting(c.a.Variable, c.a.Was)
}

func (c *setKernel) checkRevert(ctx context.Context, t *target.Target, o objections) error {
	if _, ok := t.LocalPID(ctx); !ok {
		o.block("%s runs on another machine: set %s there", t, c.a.Variable)
	}
	return nil
}

func (c *setKernel) compare(context.Context, *target.Target) (standing, string, error) {
	now, err := c.fs.Setting(c.a.Variable)
	switch {
	case err != nil:
		return "", "", err
	case now == c.a.Value || c.a.Now != "" && now == c.a.Now:
		return inForce, "", nil
	case now == c.a.Was:
		return asWas, "", nil
	}
	return other, now, nil
}

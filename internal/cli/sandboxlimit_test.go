package cli

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/sandbox"

	"github.com/spf13/pflag"
)

func TestLimitFlags(t *testing.T) {
	f := func(old, want limit.Limits, args ...string) {
		t.Helper()
		var l limitFlags
		fs := pflag.NewFlagSet("x", pflag.ContinueOnError)
		l.add(fs)
		if err := fs.Parse(args); err != nil {
			t.Errorf("%q: %v", args, err)
			return
		}
		if got := l.over(old, fs.Changed); got != want {
			t.Errorf("%q: got %+v, want %+v", args, got, want)
		}
	}
	f(limit.Limits{}, limit.Limits{})
	f(limit.Limits{}, limit.Limits{
		CPU: 0.97, Memory: 2 << 30, ReadIOPS: 500, WriteIOPS: 10,
		ReadBPS: 5 << 20, WriteBPS: 1536,
	},
		"--cpu", "0.97", "--memory=2G", "--read-iops", "500", "--write-iops", "10", "--read-bps",
		"5M", "--write-bps", "1.5K")
	f(limit.Limits{CPU: 1, Memory: 5, ReadIOPS: 7}, limit.Limits{Memory: 5}, "--cpu", "0", "--read-iops", "none")
	bad := func(args ...string) {
		t.Helper()
		var l limitFlags
		fs := pflag.NewFlagSet("x", pflag.ContinueOnError)
		l.add(fs)
		if err := fs.Parse(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	bad("--memory", "much")
	bad("--read-iops", "5M")
	bad("--read-iops", "-1")
	bad("--cpu", "all")
}

func TestLimitText(t *testing.T) {
	f := func(s limit.State, want string) {
		t.Helper()
		if got := limitLine(s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(limit.State{Name: "cpu", Wanted: "1", InForce: true, How: "cgroup v2 cpu.max"},
		"cpu 1: in effect (cgroup v2 cpu.max)")
	f(limit.State{Name: "memory", Wanted: "2147483648", Reason: "no"}, "memory 2 GiB: not in effect: no")
	f(limit.State{Name: "read_bps", Wanted: "5242880", Reason: "no"}, "read_bps 5 MiB/s: not in effect: no")
	f(limit.State{Name: "write_iops", Wanted: "500", Reason: "no"}, "write_iops 500/s: not in effect: no")
}

func TestBounds(t *testing.T) {
	if got := bounds(sandbox.Sandbox{}); got != "" {
		t.Errorf("of an unbound server: %q", got)
	}
	s := sandbox.Sandbox{CPUs: "0", Filesystem: "xfs", Limits: []limit.State{{
		Name: "cpu", Wanted: "0.5",
		InForce: true,
	}, {Name: "read_iops", Wanted: "10"}}}
	if got, want := bounds(s), "on CPU 0, data on xfs, cpu 0.5, read_iops 10/s not in effect"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/unit"
)

// limitFlags are those of `sandbox up` and `sandbox limit`.
type limitFlags struct {
	cpus                                     string
	cpu                                      float64
	memory, readBPS, writeBPS, reads, writes amount
}

// amount is a number of bytes or requests, as people write them; "none" and 0 take a limit away.
type amount struct {
	n      uint64
	kind   string // "bytes" or "requests"
	single bool
}

func (a *amount) String() string {
	if a.n == 0 {
		return ""
	}
	return strconv.FormatUint(a.n, 10)
}

func (a *amount) Type() string { return a.kind }

func (a *amount) Set(s string) error {
	if s == "none" {
		a.n = 0
		return nil
	}
	var err error
	if a.single {
		if a.n, err = strconv.ParseUint(s, 10, 64); err != nil {
			return fmt.Errorf("%q is not a number of requests per second", s)
		}
		return nil
	}
	a.n, err = unit.ParseSize(s)
	return err
}

func (f *limitFlags) add(to *pflag.FlagSet) {
	f.memory.kind, f.readBPS.kind, f.writeBPS.kind = "bytes", "bytes", "bytes"
	f.reads, f.writes = amount{kind: "requests", single: true}, amount{kind: "requests", single: true}
	to.StringVar(&f.cpus, "cpus", "", "run the server on these CPUs only: 0,2-3")
	to.Float64Var(&f.cpu, "cpu", 0, "CPU time the server may use: 0.97 is 97 % of one CPU")
	to.Var(&f.memory, "memory", "memory the server may use: 2G")
	to.Var(&f.reads, "read-iops", "read requests per second on the disk that holds its data")
	to.Var(&f.writes, "write-iops", "write requests per second there")
	to.Var(&f.readBPS, "read-bps", "bytes read per second there: 5M")
	to.Var(&f.writeBPS, "write-bps", "bytes written per second there")
}

// over returns l with what was given on the command line.
func (f *limitFlags) over(l limit.Limits, given func(flag string) bool) limit.Limits {
	if given("cpu") {
		l.CPU = f.cpu
	}
	for flag, v := range map[string]struct {
		to   *uint64
		from uint64
	}{
		"memory": {&l.Memory, f.memory.n}, "read-iops": {&l.ReadIOPS, f.reads.n},
		"write-iops": {&l.WriteIOPS, f.writes.n},
		"read-bps":   {&l.ReadBPS, f.readBPS.n}, "write-bps": {&l.WriteBPS, f.writeBPS.n},
	} {
		if given(flag) {
			*v.to = v.from
		}
	}
	return l
}

func newSandboxLimitCommand(e *env, yard yardFunc) *cobra.Command {
	var f limitFlags
	var none bool
	c := &cobra.Command{
		Use:   "limit NAME",
		Short: "change or show the limits of a running private server",
		Long: `Changes the given limits and keeps the others; 0 removes one. Without any it shows them. Limits are set with control groups,
read back after they are set, and last until the next ` + "`dyno sandbox up`" +
			`. A limit that is not in effect says why.`,
		Example: "  dyno sandbox limit shop --cpu 0.97\n  dyno sandbox limit shop --read-iops 500 --memory 0\n  dyno " +
			"sandbox limit shop --none",
		Args: args(1, 1),
	}
	f.add(c.Flags())
	c.Flags().BoolVar(&none, "none", false, "remove all limits first")
	c.RunE = func(c *cobra.Command, a []string) error {
		y, err := yard()
		if err != nil {
			return err
		}
		s, err := y.Find(c.Context(), a[0])
		if err != nil {
			return err
		}
		old := limit.Of(s.Limits)
		if none {
			old = limit.Limits{}
		}
		l := f.over(old, c.Flags().Changed)
		if err := l.Check(); err != nil {
			return &exitError{exitUsage, err}
		}
		if c.Flags().Changed("cpus") {
			if err := y.Place(c.Context(), s.Name, f.cpus); err != nil {
				return err
			}
		}
		if l != limit.Of(s.Limits) {
			if _, err := y.Limit(c.Context(), s.Name, l); err != nil {
				return err
			}
		}
		if s, err = y.Find(c.Context(), a[0]); err != nil {
			return err
		}
		if e.json() {
			return e.writeJSON(s)
		}
		if s.CPUs != "" {
			fmt.Fprintf(e.Out, "%s runs on CPU %s.\n", s.Name, s.CPUs)
		}
		for _, st := range s.Limits {
			fmt.Fprintln(e.Out, limitLine(st))
		}
		if len(s.Limits) == 0 {
			e.remark("%s has no limits.", s.Name)
		}
		return nil
	}
	return c
}

// limitText writes a limit for people: "memory 2 GiB", "read_bps 5 MiB/s".
func limitText(s limit.State) string {
	n, err := strconv.ParseUint(s.Wanted, 10, 64)
	switch {
	case err != nil || s.Name == limit.CPU:
		return s.Name + " " + s.Wanted
	case s.Name == limit.Memory:
		return s.Name + " " + unit.Bytes(float64(n))
	case s.Name == limit.ReadBPS || s.Name == limit.WriteBPS:
		return s.Name + " " + unit.Bytes(float64(n)) + "/s"
	default:
		return s.Name + " " + s.Wanted + "/s"
	}
}

func limitLine(s limit.State) string {
	if s.InForce {
		return fmt.Sprintf("%s: in effect (%s)", limitText(s), s.How)
	}
	return fmt.Sprintf("%s: not in effect: %s", limitText(s), s.Reason)
}

// bounds tells in one piece where a server may run, what it may use and what its data lie on; "" when nobody asked.
func bounds(s sandbox.Sandbox) string {
	var words []string
	if s.CPUs != "" {
		words = append(words, "on CPU "+s.CPUs)
	}
	if s.Filesystem != "" {
		words = append(words, "data on "+s.Filesystem)
	}
	for _, l := range s.Limits {
		if t := limitText(l); l.InForce {
			words = append(words, t)
		} else {
			words = append(words, t+" not in effect")
		}
	}
	return strings.Join(words, ", ")
}

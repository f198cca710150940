package plan

import (
	"maps"
	"slices"
)

// Merge lays upper over base: maps are merged key by key, lists are appended, every other value of upper wins where it
// is set. Neither argument is changed, and the result shares no map or list with them.
func Merge(base, upper Config) Config {
	c := Config{
		Server:       set(base.Server, upper.Server),
		Settings:     both(base.Settings, upper.Settings),
		Filesystem:   set(base.Filesystem, upper.Filesystem),
		CPUs:         set(base.CPUs, upper.CPUs),
		Limits:       base.Limits,
		Set:          both(base.Set, upper.Set),
		TableOptions: slices.Concat(base.TableOptions, upper.TableOptions),
		Data: Data{
			Workload: set(base.Data.Workload, upper.Data.Workload),
			Options:  both(base.Data.Options, upper.Data.Options),
			Threads:  set(base.Data.Threads, upper.Data.Threads),
			SQL:      slices.Concat(base.Data.SQL, upper.Data.SQL),
		},
		Run: Run{
			Workload: set(base.Run.Workload, upper.Run.Workload),
			Options:  both(base.Run.Options, upper.Run.Options),
			Threads:  set(base.Run.Threads, upper.Run.Threads),
			PSMode:   set(base.Run.PSMode, upper.Run.PSMode),
			Ignore:   slices.Concat(base.Run.Ignore, upper.Run.Ignore),
		},
		Probe:   slices.Concat(base.Probe, upper.Probe),
		Before:  slices.Concat(base.Before, upper.Before),
		After:   slices.Concat(base.After, upper.After),
		Read:    both(base.Read, upper.Read),
		Predict: both(base.Predict, upper.Predict),
	}
	l := upper.Limits
	c.Limits.CPU = set(c.Limits.CPU, l.CPU)
	c.Limits.Memory = set(c.Limits.Memory, l.Memory)
	c.Limits.ReadIOPS = set(c.Limits.ReadIOPS, l.ReadIOPS)
	c.Limits.WriteIOPS = set(c.Limits.WriteIOPS, l.WriteIOPS)
	c.Limits.ReadBPS = set(c.Limits.ReadBPS, l.ReadBPS)
	c.Limits.WriteBPS = set(c.Limits.WriteBPS, l.WriteBPS)
	return c
}

// set returns upper, or base when upper is not set.
func set[T comparable](base, upper T) T {
	var zero T
	if upper == zero {
		return base
	}
	return upper
}

func both(base, upper map[string]string) map[string]string {
	if len(base)+len(upper) == 0 {
		return nil
	}
	m := make(map[string]string, len(base)+len(upper))
	maps.Copy(m, base)
	maps.Copy(m, upper)
	return m
}

package workload

import (
	"maps"
	"slices"
	"strconv"
)

// threadsName is the option by which a workload learns how many sessions share its tables. It is the run's own
// --threads.
const threadsName = "threads"

// maxThreads bounds the tables that such a workload may have.
const maxThreads = 100_000

func threadsOption(help string) Option {
	return Option{Name: threadsName, Type: Number, Default: "1", Max: maxThreads, Help: help}
}

// WithThreads returns the options for a run of n sessions: those given, and the number of sessions where the workload
// asks for it and it was not given. Prepare, run and cleanup each build with it, so that all three mean the same
// tables.
func WithThreads(w Workload, given map[string]string, n int) map[string]string {
	if _, said := given[threadsName]; said || n < 1 || !slices.ContainsFunc(w.Options(), func(o Option) bool {
		return o.Name == threadsName
	}) {
		return given
	}
	m := maps.Clone(given)
	if m == nil {
		m = map[string]string{}
	}
	m[threadsName] = strconv.Itoa(n)
	return m
}

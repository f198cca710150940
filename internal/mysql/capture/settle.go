package capture

import "github.com/dyno-perf/dyno/internal/source"

// settle makes sure that no source counts as ok which answered only once: a rate takes two readings.
func settle(sources []source.Source) []source.Source {
	for i := range sources {
		if s := &sources[i]; s.State == source.OK && s.Reads < 2 {
			s.State, s.Reason = source.Failed, "it answered only once in the window, and a rate needs two samples"
		}
	}
	return sources
}

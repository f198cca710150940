package capture

import "dyno/internal/snapshot"

// settle makes sure that no source counts as ok which answered only once: a rate takes two readings.
func settle(sources []snapshot.Source) []snapshot.Source {
	for i := range sources {
		if s := &sources[i]; s.State == snapshot.OK && s.Reads < 2 {
			s.State, s.Reason = snapshot.Failed, "it answered only once in the window, and a rate takes two readings"
		}
	}
	return sources
}

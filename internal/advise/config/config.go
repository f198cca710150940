// Package config holds the rules for settings that servers of all families have. They turn symptoms
// and a snapshot into findings, change no setting and ask no server.
package config

import "github.com/dyno-perf/dyno/internal/advise"

// Rules returns every rule.
func Rules() []advise.Rule {
	return []advise.Rule{
		{Name: "connections-full", Doc: "connections that are used up, or nearly so", Find: connectionsFull},
	}
}

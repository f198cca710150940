// Package config holds the rules for server settings, and for load and replicas: connections that
// are refused, created for each statement or too many, a replica that lags or has stopped. They
// turn symptoms and a snapshot into findings, each with its arithmetic. They change no setting and
// ask no server.
package config

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
)

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule { return slices.Concat(memoryRules(), loadRules()) }

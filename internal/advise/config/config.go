// Package config holds the rules for server settings. They turn symptoms and a snapshot into
// findings, each with its arithmetic, for package app. They change no setting and ask no server.
package config

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
)

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule { return slices.Concat(memoryRules(), loadRules()) }

// Package config turns symptoms and a snapshot into findings about the server's settings, each with its arithmetic.
package config

import (
	"slices"

	"dyno/internal/advise"
)

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule { return slices.Concat(memoryRules(), loadRules()) }

// Package host turns symptoms and a snapshot into findings about the machine, its kernel and who may log in.
package host

import (
	"slices"

	"dyno/internal/advise"
)

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule { return slices.Concat(kernelRules(), securityRules()) }

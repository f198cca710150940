// Package host holds the rules for the machine, its kernel and the accounts that may log in. They
// turn symptoms and a snapshot into findings for package app. They do not read the machine
// themselves; the snapshot contains what internal/host has read.
package host

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
)

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule { return slices.Concat(kernelRules(), securityRules()) }

// Package host holds the rules for the machine and its kernel, for accounts without a password, and
// for encryption of connections and data. They turn symptoms and a snapshot into findings. They do
// not read the machine themselves; the snapshot contains what internal/host has read.
package host

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
)

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule { return slices.Concat(kernelRules(), securityRules()) }

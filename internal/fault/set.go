package fault

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/limit"
)

// Set is what a family of servers has of faults.
type Set struct {
	Faults []Fault // in the order in which lists show them
	// Flavors are those of the family that a fault exists on unless it says otherwise.
	Flavors []dbms.Flavor
	// Pairs names the faults that the accuracy table plants two at a time.
	Pairs [][2]string
	// Base are settings of every server that faults are planted on, Source further ones of a server with a replica, and
	// Replica those of the replica on top.
	Base, Source, Replica map[string]string
	// Common are the settings of faults that most of them share.
	Common map[string]string
	// Plain returns the name of a setting, in whichever form it is written.
	Plain func(name string) string
	// File is the name of a server's file of settings: "my.cnf".
	File string
	// URL is how the address of a server is written, for people: "mysql://user@host:3306".
	URL string
}

// Find returns the fault of that name.
func (s Set) Find(name string) (Fault, bool) {
	i := slices.IndexFunc(s.Faults, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		return Fault{}, false
	}
	return s.Faults[i], true
}

// Needs is what a private server must have for the faults that are planted on it.
type Needs struct {
	Settings map[string]string // as in its file
	Limits   limit.Limits
	Warm     time.Duration     // how long load and actors run before anybody looks; 0 for the usual time
	Replica  map[string]string // settings of a replica that the diagnosis looks at; nil for none
}

// Together returns what several faults of the set need on one server. A setting that only one of them has, or has
// another value for than the scene they share, is that one's. It is an error when two of them want different values, or
// when one does not exist on the flavor and version.
func (s Set) Together(flavor dbms.Flavor, version string, faults ...Fault) (Needs, error) {
	var n Needs
	owner := map[string]string{} // of each setting
	for _, f := range faults {
		if err := f.On(flavor, version); err != nil {
			return Needs{}, err
		}
		for _, name := range slices.Sorted(maps.Keys(f.Settings)) {
			if err := s.add(&n, owner, f.Name, name, f.Settings[name]); err != nil {
				return Needs{}, err
			}
		}
		if f.Limits.Any() {
			if n.Limits.Any() && n.Limits != f.Limits {
				return Needs{}, fmt.Errorf("plant %s with %s: each limits the server differently",
					f.Name, faults[0].Name)
			}
			n.Limits = f.Limits
		}
		if f.Replica != nil {
			if n.Replica != nil {
				return Needs{}, fmt.Errorf("plant %s with %s: each needs its own replica", f.Name, faults[0].Name)
			}
			n.Replica = f.Replica
		}
		n.Warm = max(n.Warm, f.Warm)
	}
	return n, nil
}

// add adds a setting of the fault called by.
func (s Set) add(n *Needs, owner map[string]string, by, name, value string) error {
	if n.Settings == nil {
		n.Settings = map[string]string{}
	}
	plain := s.Plain(name)
	common, at := "", ""
	for have, v := range s.Common {
		if s.Plain(have) == plain {
			common = v
		}
	}
	for have := range n.Settings {
		if s.Plain(have) == plain {
			at = have
		}
	}
	switch {
	case at == "":
	case n.Settings[at] == value, common == value:
		return nil
	case n.Settings[at] != common:
		return fmt.Errorf("plant %s with %s: one needs %s=%s, the other %s", by, owner[plain],
			plain, value, n.Settings[at])
	default:
		delete(n.Settings, at)
	}
	n.Settings[name], owner[plain] = value, by
	return nil
}

// Merge returns settings with others on top, in whichever form their names are written.
func (s Set) Merge(settings ...map[string]string) map[string]string {
	m := map[string]string{}
	for _, from := range settings {
		for _, k := range slices.Sorted(maps.Keys(from)) {
			maps.DeleteFunc(m, func(have, _ string) bool { return s.Plain(have) == s.Plain(k) })
			m[k] = from[k]
		}
	}
	return m
}

// FlavorError is the answer to a fault that does not exist on a flavor of server, or on later versions of it.
type FlavorError struct {
	Fault   string
	Flavor  dbms.Flavor
	Flavors []dbms.Flavor // where it does
	Until   string        // the version of Flavor from which on it does not; "" for none
}

func (e *FlavorError) Error() string {
	if e.Until != "" {
		return fmt.Sprintf("plant %s: %s from %s on makes it none, because the server does itself what the "+
			"cure does: choose an older --server, or another flavor", e.Fault, e.Flavor, e.Until)
	}
	return fmt.Sprintf("plant %s: it does not exist on %s, only on %s: choose another --server", e.Fault,
		e.Flavor, joined(e.Flavors))
}

func joined(flavors []dbms.Flavor) string {
	text := ""
	for i, f := range flavors {
		if i > 0 {
			text += " and "
		}
		text += string(f)
	}
	return text
}

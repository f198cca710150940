package fault

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/limit"
)

// Needs is what a private server must have for the faults that are planted on it.
type Needs struct {
	Settings map[string]string // as in my.cnf
	Limits   limit.Limits
	Warm     time.Duration     // how long load and actors run before anybody looks; 0 for the usual time
	Replica  map[string]string // settings of a replica that the diagnosis looks at; nil for none
	Bare     bool              // the server has no settings of MySQL's family
}

// Together returns what several faults need on one server. A setting that only one of them has, or has another value
// for than the scene they share, is that one's. It is an error when two of them want different values, or when one does
// not exist on the flavor and version.
func Together(flavor dbms.Flavor, version string, faults ...Fault) (Needs, error) {
	var n Needs
	common := plainNames(sized())
	n.Bare = flavor.IsPostgres()
	owner := map[string]string{} // of each setting
	for _, f := range faults {
		if err := f.On(flavor, version); err != nil {
			return Needs{}, err
		}
		if flavor.IsPostgres() { // settings are MySQL's
			f.Settings = nil
		}
		for _, name := range slices.Sorted(maps.Keys(f.Settings)) {
			if err := n.set(owner, common, f.Name, name, f.Settings[name]); err != nil {
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

// set adds a setting of the fault called by.
func (n *Needs) set(owner, common map[string]string, by, name, value string) error {
	if n.Settings == nil {
		n.Settings = map[string]string{}
	}
	plain := PlainSetting(name)
	at := ""
	for have := range n.Settings {
		if PlainSetting(have) == plain {
			at = have
		}
	}
	switch {
	case at == "":
	case n.Settings[at] == value, common[plain] == value:
		return nil
	case n.Settings[at] != common[plain]:
		return fmt.Errorf("plant %s with %s: one needs %s=%s, the other %s", by, owner[plain],
			plain, value, n.Settings[at])
	default:
		delete(n.Settings, at)
	}
	n.Settings[name], owner[plain] = value, by
	return nil
}

func plainNames(m map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		out[PlainSetting(k)] = v
	}
	return out
}

// PlainSetting returns the variable's name of a setting in whichever form it is written.
func PlainSetting(name string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(strings.TrimLeft(strings.TrimSpace(name), "-")), "-",
		"_"), "loose_")
}

// Pairs names the faults that the accuracy table plants two at a time. The two are of different kinds, exist wherever
// either does, and neither takes away what the other shows by: a load that stands still behind a lock, for one, shows
// nothing of a buffer pool.
func Pairs() [][2]string {
	return [][2]string{
		{"missing-index", "connection-churn"},
		{"missing-index", "small-log-buffer"},
		{"index-order", "idle-transaction"},
		{"filesort", "small-redo"},
		{"two-single-indexes", "disk-temp-tables"},
		{"unindexed-join", "session-memory"},
		{"implicit-conversion", "lock-pileup"},
		{"collation-join", "trigger-cost"},
		{"redundant-index", "row-versions"},
		{"index-scan", "table-cache"},
	}
}

package app

import (
	"fmt"
	"slices"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// faulty is a family whose servers faults are planted on.
type faulty interface{ Faults() fault.Set }

// FaultsOf returns what the family of a flavor has of faults; nothing for a flavor of none.
func FaultsOf(flavor dbms.Flavor) fault.Set {
	f, _ := FamilyOf(flavor)
	if x, ok := f.(faulty); ok {
		return x.Faults()
	}
	return fault.Set{}
}

// Faults lists the faults of all families, those that several have but once, as the first of these has them. Each says
// on which flavors it exists.
func Faults() (all []fault.Fault) {
	for _, f := range families {
		x, ok := f.(faulty)
		if !ok {
			continue
		}
		set := x.Faults()
		for _, f := range set.Faults {
			if len(f.Flavors) == 0 {
				f.Flavors = set.Flavors
			}
			i := slices.IndexFunc(all, func(have fault.Fault) bool { return have.Name == f.Name })
			if i < 0 {
				all = append(all, f)
				continue
			}
			all[i].Flavors = slices.Concat(all[i].Flavors, f.Flavors)
		}
	}
	return all
}

// FindFault returns the fault of that name as Faults lists it; the error of an unknown one names the nearest.
func FindFault(name string) (fault.Fault, error) {
	var list []workload.Workload
	for _, f := range Faults() {
		if f.Name == name {
			return f, nil
		}
		list = append(list, f.Workload)
	}
	return fault.Fault{}, fmt.Errorf("unknown fault %q%s", name, workload.Suggest(name, list))
}

// FaultOn returns the fault of that name as the family of a flavor has it. It is a *fault.FlavorError when that has
// none, or when there is none on the flavor and version.
func FaultOn(name string, flavor dbms.Flavor, version string) (fault.Fault, error) {
	f, err := FindFault(name)
	if err != nil {
		return f, err
	}
	own, ok := FaultsOf(flavor).Find(name)
	if !ok {
		return f, &fault.FlavorError{Fault: name, Flavor: flavor, Flavors: f.Flavors}
	}
	return own, own.On(flavor, version)
}

// FaultPairs names the faults that are planted two at a time, see fault.Set.
func FaultPairs() (all [][2]string) {
	for _, f := range families {
		if x, ok := f.(faulty); ok {
			all = append(all, x.Faults().Pairs...)
		}
	}
	return all
}

// faultLoads returns the workloads of the faults: a load can run any of them again on a server where it was planted.
func faultLoads() (all []workload.Workload) {
	for _, f := range Faults() {
		w := severally{f.Workload, nil}
		for _, x := range families {
			if s, ok := x.(faulty); ok {
				if own, ok := s.Faults().Find(f.Name); ok {
					w.each = append(w.each, own.Workload)
				}
			}
		}
		all = append(all, w)
	}
	return all
}

// severally is a workload that families have each in its own way.
type severally struct {
	workload.Workload // the first family's
	each              []workload.Workload
}

// In returns it as the family of a dialect has it. An error says that none has.
func (w severally) In(d workload.Dialect) (workload.Workload, error) {
	for _, x := range w.each {
		own, several := x.(interface {
			In(workload.Dialect) (workload.Workload, error)
		})
		switch {
		case several:
			if y, err := own.In(d); err == nil {
				return y, nil
			}
		case d == workload.MySQL:
			return x, nil
		}
	}
	return nil, fmt.Errorf("the workload %s is not there for %v yet", w.Name(), d)
}

package load

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/workload"
)

// Data says which tables to make or to drop, and how.
type Data struct {
	Workload workload.Workload
	Options  map[string]string // of the workload; absent ones have their defaults
	Threads  int               // sessions that load rows at the same time, also into one table; 0 means 1
	// Seed decides the rows, whatever Threads is. 0 means DefaultSeed, so that whoever names none gets the same rows
	// everywhere.
	Seed uint64
	// Force drops tables of those names before it makes new ones, whatever they hold; a view stays, and is an error.
	Force bool
	// Cache, when not nil, keeps copies of the tables made and takes tables from there; see Cache. The app gives one
	// for sandboxes.
	Cache *Cache
}

// Plan settles the options of the workload; step is what is done with it, for the error.
func (d Data) Plan(step string) (*workload.Plan, error) {
	if d.Workload == nil {
		return nil, fmt.Errorf("%s: no workload given", step)
	}
	p, err := d.Workload.Build(workload.WithThreads(d.Workload, d.Options, d.Threads))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", step, d.Workload.Name(), err)
	}
	return p, nil
}

// DefaultSeed makes the rows of a prepare that names no seed.
const DefaultSeed = 1

// Cache keeps the tables that prepare has made as files of tablespaces, so that the same table comes back in a fraction
// of the time. It works for servers on this machine whose data directory this process may write to: sandboxes. A copy
// is used for the same server version, table, rows and seed only, and is checked when it comes back: whatever does not
// fit is loaded as without a cache.
type Cache struct {
	// Dir holds the copies. It is made when missing; several processes may share it.
	Dir string
	// Max is how many bytes the copies may take together, the least recently used go first; 0 means DefaultCacheMax.
	Max int64
	// Remark, when not nil, is told in one sentence why a table was not kept or did not come from the cache. It is
	// called by one goroutine at a time.
	Remark func(text string)
}

// DefaultCacheMax bounds a cache that names no bound of its own.
const DefaultCacheMax = 10 << 30

// ExistsError tells that prepare would have to write over tables.
type ExistsError struct {
	Tables  []string
	Foreign bool   // they have other columns than the workload's tables
	Detail  string // what differs from what is asked for, when that is known
}

func (e *ExistsError) Error() string {
	list := brief(e.Tables)
	if e.Foreign {
		return list + " exists with other columns than this workload's: it is not Dyno's, use another database; " +
			"force would drop it"
	}
	if e.Detail != "" {
		list += " exists (" + e.Detail + ")"
	} else {
		list += " exists"
	}
	return list + ": clean up first, or use force to replace"
}

// UnfinishedError tells that tables are there whose prepare did not come to its end, and which were to hold other rows
// than those asked for now.
type UnfinishedError struct{ Tables []string }

func (e *UnfinishedError) Error() string {
	return brief(e.Tables) + " is of an unfinished prepare with another size, seed or other options: repeat that one " +
		"to resume it, clean up, or use force to replace"
}

// brief lists the first few names.
func brief(list []string) string {
	switch n := len(list); {
	case n == 1:
		return "table " + list[0]
	case n > 3:
		return fmt.Sprintf("table %s and %d more", list[0], n-1)
	}
	return "table " + strings.Join(list, ", ")
}

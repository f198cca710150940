package scrape

import (
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/target"
)

// entry is one line of the list of sources. With no target (nil) make must still work, for its name alone.
type entry struct {
	Traits
	make func(l *link, t *target.Target) Source
}

// entries lists the sources in the order in which they are read: those that cost no question first.
func entries() []entry {
	seen := new(moment) // by the sources of this list
	return slices.Concat(hostEntries(), []entry{
		{Traits{Cost: Light, Budget: 0.2, About: "SHOW GLOBAL STATUS"}, func(l *link, t *target.Target) Source {
			return newGlobalStatus(l, l, t, t.Facts().Flavor.IsMariaDB())
		}},
		{
			Traits{Cost: Light, Budget: 0.1, Grant: "PROCESS ON *.*", About: "counters of InnoDB"},
			func(l *link, t *target.Target) Source { return newInnodbMetrics(l, t) },
		},
		{
			Traits{Cost: Light, Budget: 0.1, Grant: "PROCESS ON *.*", About: "open transactions"},
			func(l *link, t *target.Target) Source { return newTransactions(l, t, seen) },
		},
		{Traits{Cost: Light, Budget: 0.1, Grant: "PROCESS ON *.*", About: "sessions, and connections by command and " +
			"state"}, func(l *link, t *target.Target) Source { return newProcesslist(l, t, seen) }},
		{
			Traits{Cost: Light, Budget: 0.1, Grant: "PROCESS ON *.*", About: "lock waits and blockers"},
			func(l *link, t *target.Target) Source { return newLocks(l, t, seen) },
		},
		{
			Traits{Cost: Light, Every: 10 * time.Second, About: "SHOW GLOBAL VARIABLES, and what changes in them"},
			func(l *link, t *target.Target) Source { return newVariables(l, t) },
		},
		{
			Traits{Cost: Heavy, Every: 5 * time.Second, Grant: "PROCESS ON *.*", About: "SHOW ENGINE INNODB STATUS"},
			func(l *link, t *target.Target) Source { return newInnodbStatus(l, t) },
		},
		{
			Traits{Cost: Light, Every: 10 * time.Second, Grant: pfsPrivilege, About: "what threads waited for"},
			func(l *link, t *target.Target) Source { return newWaits(l, t) },
		},
		{
			Traits{Cost: Light, Every: 10 * time.Second, Grant: pfsPrivilege, About: "percentiles of statement times"},
			func(l *link, t *target.Target) Source { return newLatency(l, t) },
		},
		{
			Traits{
				Cost: Light, Every: 10 * time.Second, Grant: pfsPrivilege,
				About: "input and output by kind of file",
			},
			func(l *link, t *target.Target) Source { return newFileIO(l, t) },
		},
		{
			Traits{Cost: Heavy, Every: 30 * time.Second, Grant: pfsPrivilege, About: "rows handled by table and index"},
			func(l *link, t *target.Target) Source { return newTableIO(l, t) },
		},
		{Traits{Cost: Heavy, Every: 10 * time.Second, Grant: pfsPrivilege, About: "memory of the server by what it " +
			"is for"}, func(l *link, t *target.Target) Source { return newMemory(l, t) }},
		{Traits{
			Cost: Heavy, Every: 30 * time.Second, Asked: true, Grant: pfsPrivilege,
			About: "memory of the server by user",
		}, func(l *link, t *target.Target) Source {
			return newMemoryUsers(l, t)
		}},
		{
			Traits{
				Cost: Light, Every: 10 * time.Second, Asked: true, Grant: pfsPrivilege,
				About: "stages of statements",
			},
			func(l *link, t *target.Target) Source { return newStages(l, t) },
		},
		{
			Traits{Cost: Light, Every: 10 * time.Second, Grant: "PROCESS ON *.*", About: "InnoDB's page compression"},
			func(l *link, t *target.Target) Source { return newCompression(l, t) },
		},
		{
			Traits{Cost: Heavy, Grant: "REPLICATION CLIENT ON *.*", About: "channels of a replica and their appliers"},
			func(l *link, t *target.Target) Source { return newReplication(l, t) },
		},
		{
			Traits{Cost: Light, Grant: pfsPrivilege, About: "members of MySQL's group replication"},
			func(l *link, t *target.Target) Source { return newGroupReplication(l, t) },
		},
		{
			Traits{Cost: Heavy, Every: 10 * time.Second, Grant: "PROCESS ON *.*", About: "MariaDB's user statistics"},
			func(l *link, t *target.Target) Source { return newUserstat(l, t) },
		},
		{
			Traits{Cost: Heavy, Every: 10 * time.Minute, Grant: "PROCESS ON *.*", About: "sizes of tables and indexes"},
			func(l *link, t *target.Target) Source { return newSizes(l, t) },
		},
		{Traits{
			Cost: Light, Every: 30 * time.Second, Grant: "REPLICATION CLIENT ON *.*",
			About: "room that the binary logs take",
		}, func(l *link, t *target.Target) Source {
			return newBinlog(l, t)
		}},
		{Traits{
			Cost: Heavy, Every: 30 * time.Second, Asked: true, Grant: pfsPrivilege,
			About: "input and output of single files",
		}, func(l *link, t *target.Target) Source {
			return newFiles(l, t)
		}},
	})
}

// Names lists the names of all sources in the order in which they are read.
func Names() []string {
	var names []string
	for _, s := range Sources() {
		names = append(names, string(s.Name))
	}
	return names
}

// Info is what is known of a source before it is read.
type Info struct {
	Name source.Name
	Traits
}

// Sources lists all sources in the order in which they are read.
func Sources() []Info {
	var all []Info
	for _, e := range entries() {
		all = append(all, Info{e.make(nil, &target.Target{}).Name(), e.Traits})
	}
	return all
}

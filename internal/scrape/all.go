package scrape

import (
	"dyno/internal/target"
)

// all lists the sources in the order in which they are read: those that cost no question first.
func all(l *link, t *target.Target) []Source {
	return []Source{
		&hostSource{find: t.LocalPID},
		&processSource{find: t.LocalPID},
		newGlobalStatus(l, t),
		newInnodbMetrics(l, t),
		newProcesslist(l, t),
	}
}

// Names lists the names of all sources in the order in which they are read.
func Names() []string {
	return []string{"host", "process", "global_status", "innodb_metrics", "processlist"}
}

package app

import (
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
)

// Names returns the short form of a class by which reports name it, and the tables in it as people write them, by the
// family of the servers that it was seen on.
func Names(c class.Class) (item string, tables []string) {
	if c.Origin == class.PgStatStatements {
		return pgtext.Item(c.Fingerprint), pgtext.Tables(c.Fingerprint)
	}
	return mytext.Item(c.Fingerprint), mytext.TableNames([]byte(c.Fingerprint))
}

package snap

import (
	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	mysql "github.com/dyno-perf/dyno/internal/mysql/advise"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	postgres "github.com/dyno-perf/dyno/internal/postgres/advise"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// Dialect returns that of the family of a snapshot's server.
func Dialect(s *snapshot.Snapshot) advise.Dialect {
	if s.Target.Flavor.IsPostgres() {
		return postgres.Dialect(sqlshape.Parser{})
	}
	return mysql.Dialect()
}

// View returns what rules are asked with about a snapshot.
func View(s *snapshot.Snapshot, symptoms []finding.Symptom) *advise.View {
	return advise.NewView(s, symptoms, Dialect(s))
}

package judge

import (
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/mysql/symptoms"
)

// looks returns what symptoms of a flavor's servers are found by.
func looks(f dbms.Flavor) []diagnose.Look {
	if f.IsPostgres() {
		return looksOfPostgres()
	}
	return symptoms.List()
}

package postgres

import (
	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/advise/index"
	"github.com/dyno-perf/dyno/internal/advise/session"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/judge"
	pgadvise "github.com/dyno-perf/dyno/internal/postgres/advise"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
	"github.com/dyno-perf/dyno/internal/postgres/symptoms"
)

// Judgement says how PostgreSQL's servers are judged. Without a Reader no statement is understood.
func (f Family) Judgement() judge.Family {
	d := pgadvise.Dialect(f.Reader)
	return judge.Family{
		Dialect: d, Symptoms: symptoms.List(d.Parse),
		Rules: map[advise.Kind][]advise.Rule{
			advise.Session: session.ClientRules(), advise.Index: index.ExpressionRules(),
		},
	}
}

// Shown returns the short form of a class and the tables in it; not ok for one that was seen on another family's
// server.
func (Family) Shown(c class.Class) (item string, tables []string, ok bool) {
	if c.Origin != class.PgStatStatements {
		return "", nil, false
	}
	return pgtext.Item(c.Fingerprint), pgtext.Tables(c.Fingerprint), true
}

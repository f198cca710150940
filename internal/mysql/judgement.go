package mysql

import (
	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/judge"
	myadvise "github.com/dyno-perf/dyno/internal/mysql/advise"
	"github.com/dyno-perf/dyno/internal/mysql/advise/config"
	"github.com/dyno-perf/dyno/internal/mysql/advise/host"
	"github.com/dyno-perf/dyno/internal/mysql/advise/schema"
	"github.com/dyno-perf/dyno/internal/mysql/advise/session"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/symptoms"
)

// Judgement says how the family's servers are judged.
func (Family) Judgement() judge.Family {
	return judge.Family{
		Dialect: myadvise.Dialect(), Symptoms: symptoms.List(),
		Rules: map[advise.Kind][]advise.Rule{
			advise.Session: session.Rules(), advise.Schema: schema.Rules(), advise.Config: config.Rules(),
			advise.Host: host.Rules(),
		},
	}
}

// Shown returns the short form of a class and the tables in it; not ok for one that was seen on another family's
// server.
func (Family) Shown(c class.Class) (item string, tables []string, ok bool) {
	switch c.Origin {
	case class.PerformanceSchema, class.SlowLog, class.Processlist, "":
	default:
		return "", nil, false
	}
	return mytext.Item(c.Fingerprint), mytext.TableNames([]byte(c.Fingerprint)), true
}

package testbed

import (
	"context"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/load"
	loadmysql "github.com/dyno-perf/dyno/internal/mysql/loader"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	trialmysql "github.com/dyno-perf/dyno/internal/mysql/trial"
	"github.com/dyno-perf/dyno/internal/postgres/loader"
	trialpostgres "github.com/dyno-perf/dyno/internal/postgres/trial"
)

// mysqlFamily is the family of MySQL as its façade has it, which is on a higher floor.
type mysqlFamily struct{}

func (mysqlFamily) Name() string        { return "MySQL" }
func (mysqlFamily) Bench() family.Bench { return trialmysql.Bench{} }
func (mysqlFamily) OpenLoad(ctx context.Context, s endpoint.Spec) (load.Server, error) {
	t, err := target.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return loadmysql.Server{T: t}, nil
}

// postgresFamily is that of PostgreSQL.
type postgresFamily struct{}

func (postgresFamily) Name() string        { return "PostgreSQL" }
func (postgresFamily) Bench() family.Bench { return trialpostgres.Bench{} }
func (postgresFamily) OpenLoad(ctx context.Context, s endpoint.Spec) (load.Server, error) {
	return loader.Open(ctx, s)
}

// families are those of the tests here.
func families(f dbms.Flavor) (Family, bool) {
	if f.IsPostgres() {
		return postgresFamily{}, true
	}
	return mysqlFamily{}, true
}

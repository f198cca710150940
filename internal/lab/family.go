package lab

import (
	"path"
	"strings"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/testbed"
	"github.com/dyno-perf/dyno/internal/trial"
)

// familyOf returns the family of a flavor as a testbed asks it; not ok where trials cannot run on its servers.
func familyOf(f dbms.Flavor) (testbed.Family, bool) {
	x, _ := app.FamilyOf(f)
	y, ok := x.(testbed.Family)
	return y, ok
}

// PlanWords are what plans say of servers, for plan.Options: those of the first family that has any.
func PlanWords() plan.Words {
	for _, f := range app.Families() {
		if x, ok := f.(interface{ PlanWords() plan.Words }); ok {
			return x.PlanWords()
		}
	}
	return plan.Words{}
}

// causesOf returns what is known of the variables of a server that a plan names, by its flavor or by the path of its
// program. A program of another name is one of the first family.
func causesOf(server string) trial.Causes {
	flavor, _, _ := strings.Cut(path.Base(server), "@")
	f, ok := app.FamilyOf(dbms.Flavor(flavor))
	if !ok {
		f = app.Families()[0]
	}
	if x, ok := f.(interface{ Bench() family.Bench }); ok {
		return x.Bench().Causes()
	}
	return trial.Causes{}
}

package mysql

import (
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/mysql/trial"
)

// Bench returns how trials of experiments are carried out on servers of the family.
func (Family) Bench() family.Bench { return trial.Bench{} }

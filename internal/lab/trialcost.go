package lab

import (
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/store/trials"
)

// What a trial takes beside its warm-up and its measurement when no earlier run of the plan says so: from runs of the
// recipes on two cores.
const (
	setupProbes = 700 * time.Millisecond // statements only, on the running server
	setupNone   = 500 * time.Millisecond
	setupServer = 4 * time.Second
	setupData   = 6 * time.Second
	// prepareData is what starting the server and making the data take, once.
	prepareData = 5 * time.Second
)

// estimate returns how long an experiment takes, at least and at most, with setting up.
func estimate(p plan.Plan) (least, most time.Duration) {
	setup := setupNone
	switch {
	case p.Trials.Time == 0:
		setup = setupProbes
	case p.Trials.Fresh == plan.FreshData:
		setup = setupData
	case p.Trials.Fresh == plan.FreshServer:
		setup = setupServer
	}
	return lasting(p, setup)
}

func lasting(p plan.Plan, setup time.Duration) (least, most time.Duration) {
	least, most = plan.Estimate(p, setup)
	least, most = least+prepareData, most+prepareData
	if b := time.Duration(p.Budget); b > 0 {
		least, most = min(least, b), min(most, b)
	}
	return least, most
}

// duration is estimate from what the trials of the newest run of the same plan took on this machine; run is its id, ""
// for none.
func duration(a *app.App, p plan.Plan) (least, most time.Duration, run string) {
	all, err := Experiments(a)
	if err == nil && p.Trials.Turns == 0 { // who take turns share one setup
		hash := p.Hash()
		for _, e := range slices.Backward(all) {
			if e.Hash != hash || e.Trials == 0 {
				continue
			}
			k, err := trials.Read(app.Stores{App: a}.ExperimentDir(e.ID))
			if err != nil {
				continue
			}
			sum := 0.0
			for _, t := range k.Trials {
				sum += t.Setup + t.Warm + t.To.Sub(t.From).Seconds()
			}
			each := time.Duration(sum / float64(len(k.Trials)) * float64(time.Second))
			least, most = lasting(p, max(0, each-time.Duration(p.Trials.Time+p.Trials.WarmMin)))
			return least, most, e.ID
		}
	}
	least, most = estimate(p)
	return least, most, ""
}

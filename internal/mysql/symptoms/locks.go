package symptoms

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// lockLooks look at locks and transactions.
func lockLooks() []diagnose.Look {
	return []diagnose.Look{diagnose.LockQueues, diagnose.LockWaiting, deadlocked, oldVersions}
}

// deadlockRate returns deadlocks per second, and the source that told; unknown when no counter of them was observed.
func deadlockRate(s *snapshot.Snapshot) (known.Value[float64], source.Name) {
	if r := s.Rate("mysql_global_status_innodb_deadlocks"); r.OK() { // MariaDB, Percona Server
		return r, source.GlobalStatus
	}
	return s.Rate("mysql_info_schema_innodb_metrics_lock_lock_deadlocks_total"), figures.InnodbMetrics
}

// deadlocksPerSec is what retries hide without anybody's notice: one every two seconds.
const deadlocksPerSec = 0.5

func deadlocked(s *snapshot.Snapshot) []finding.Symptom {
	r, from := deadlockRate(s)
	v, ok := r.Get()
	if !ok || v < deadlocksPerSec {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.Deadlocks.ID(), Kind: finding.Deadlocks, Subject: "server", Title: unit.Rate(v,
			"deadlocks a second"),
		Evidence: []finding.Evidence{{
			What: "deadlocks per second", Value: r, Unit: "1/s", Expected: fmt.Sprintf("< %.1f", deadlocksPerSec),
			Source: from,
			Text:   fmt.Sprintf("The server ended %s to resolve deadlocks.", unit.Rate(v, "transactions a second")),
		}},
	}}
}

// history returns the series of the history list's length under whichever name it was observed, with its source.
func history(s *snapshot.Snapshot) (first, last known.Value[float64], from source.Name) {
	for _, x := range []struct {
		name string
		from source.Name
	}{
		{"mysql_global_status_innodb_history_list_length", source.GlobalStatus},
		{"mysql_info_schema_innodb_metrics_transaction_trx_rseg_history_len", figures.InnodbMetrics},
		{"dyno_innodb_history_length", figures.InnodbStatus},
	} {
		if y, ok := s.Find(x.name); ok && len(y.Points) > 1 {
			return known.Of(y.Points[0].Value), known.Of(y.Points[len(y.Points)-1].Value), x.from
		}
	}
	return known.None[float64](), known.None[float64](), ""
}

const (
	// historyLong is a length that purge keeps well below on servers that it keeps up with.
	historyLong = 100_000
	// historyGrowth is how much it must have grown in the window, when it is not long yet: changes that purge did not
	// clear away.
	historyGrowth = 500
)

func oldVersions(s *snapshot.Snapshot) []finding.Symptom {
	first, last, from := history(s)
	a, ok := first.Get()
	b := last.Or(0)
	if !ok || s.Seconds() <= 0 || b < historyLong && b-a < historyGrowth {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.OldVersions.ID(), Kind: finding.OldVersions, Subject: "server",
		Title: fmt.Sprintf("the history of old row versions holds %s transactions", unit.Count(b)),
		Evidence: []finding.Evidence{{
			What: "history list length", Value: last, Expected: fmt.Sprintf("< %s, and not growing",
				unit.Count(historyLong)), Source: from,
			Text: fmt.Sprintf("The history list went from %s to %s in %s.", unit.Count(a), unit.Count(b),
				unit.Seconds(s.Seconds())),
		}},
	}}
}

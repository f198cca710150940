package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/snap"
)

// history adds a history list that grows.
func growing(m *snap.Made, from, perSec float64) *snap.Made {
	m.Rate("mysql_info_schema_innodb_metrics_transaction_trx_rseg_history_len", perSec)
	x := &m.S.Series[len(m.S.Series)-1]
	x.Kind = metric.Gauge
	for i := range x.Points {
		x.Points[i].Value += from - 1000
	}
	return m
}

// pages sets how many pages are looked at a second.
func pages(m *snap.Made, perSec float64) *snap.Made {
	m.S.Series = slices.DeleteFunc(m.S.Series, func(x metric.Series) bool {
		return x.Name == "mysql_global_status_innodb_buffer_pool_read_requests"
	})
	return m.Status("Innodb_buffer_pool_read_requests", perSec)
}

// report is a moment in which session 7 sleeps on a snapshot.
func snapshotOf(s float64, text string) state.State {
	return state.State{
		Sessions: []state.Session{sleeping(7, 100+s), working(10, change, 0.003)},
		Transactions: []state.Transaction{
			{Session: 7, ID: "1", Phase: "RUNNING", Seconds: 100 + s},
			{Session: 10, ID: "2", Phase: "RUNNING"},
		},
		EngineStatus: text,
	}
}

const withView = "------------\nTRANSACTIONS\n------------\nTrx id counter 27132\nPurge done for trx's n:o < 4840 " +
	"undo n:o < 0 state: running\nHistory list length 13550\n" +
	"LIST OF TRANSACTIONS FOR EACH SESSION:\n---TRANSACTION (0x7f60f3404880), ACTIVE 18 sec\n0 lock struct(s), heap " +
	"size 1128, 0 row lock(s)\n" +
	"MariaDB thread id 7, OS thread handle 140054356625088, query id 8621 localhost root \nTrx read view will not " +
	"see trx with id >= 14251, sees < 14251\n" +
	"---TRANSACTION 27131, ACTIVE 0 sec updating or deleting\nMariaDB thread id 10, OS thread handle 1, query id 2 " +
	"localhost root Updating\nUPDATE stock\n--------\nFILE I/O\n"

func TestRowVersions(t *testing.T) {
	m := moments(pages(growing(shop(), 12_000, 300), 900_000), 8, func(s float64) state.State {
		return snapshotOf(s, withView)
	})
	f := one(t, m, "row-versions")
	if !slices.Equal(f.Subject.Sessions, []uint64{7}) || !slices.Equal(f.Subject.Tables, []schema.Ref{stock}) ||
		!slices.Equal(f.Subject.Classes, []string{classOf(change)}) {
		t.Errorf("%+v", f.Subject)
	}
	if f.Confidence != finding.Certain || f.Severity.Rank() < finding.Warning.Rank() || f.Share <= 0.3 {
		t.Errorf("%s %s %v", f.Confidence, f.Severity, f.Share)
	}
	for _, want := range []string{"session 7", "108 s", "15k", "300 pages"} {
		if !strings.Contains(strings.ReplaceAll(f.Title, "1 min 48 s", "108 s"), want) {
			t.Errorf("no %q in %s", want, f.Title)
		}
	}
	if !strings.Contains(f.Evidence[2].Text, "12.9k") {
		t.Error(f.Evidence[2].Text)
	}
	// Without the text of InnoDB it is the oldest transaction, and that is said.
	m = moments(pages(growing(shop(), 12_000, 300), 900_000), 8, func(s float64) state.State {
		return snapshotOf(s, "")
	})
	if f = one(t, m, "row-versions"); f.Confidence != finding.Likely || len(f.Against) == 0 {
		t.Errorf("%s %v", f.Confidence, f.Against)
	}
	// It costs nothing yet, and the history is a danger.
	m = moments(growing(shop(), 3e6, 300), 8, func(s float64) state.State { return snapshotOf(s, withView) })
	if f = one(t, m, "row-versions"); f.Severity != finding.Notice || f.Share != 0 {
		t.Errorf("%s %v", f.Severity, f.Share)
	}
}

func TestRowVersionsSilent(t *testing.T) {
	view := func(s float64) state.State { return snapshotOf(s, withView) }
	silent(t, "a snapshot and no history", moments(pages(growing(shop(), 20, 1), 900_000), 8, view))
	silent(t, "history that does not grow", moments(pages(growing(shop(), 900, -1), 900_000), 8, view))
	silent(t, "history that costs nothing", moments(growing(shop(), 12_000, 300), 8, view))
	silent(t, "history that nobody keeps: purge is behind", moments(pages(growing(shop(), 12_000, 300), 900_000), 8,
		func(s float64) state.State {
			return state.State{
				Sessions:     []state.Session{working(10, change, 0.003)},
				Transactions: []state.Transaction{{Session: 10, ID: "2"}},
			}
		}))
	silent(t, "an old transaction without a snapshot", moments(pages(growing(shop(), 12_000, 300), 900_000), 8,
		func(s float64) state.State {
			return snapshotOf(s, strings.Replace(withView,
				"Trx read view will not see trx with id >= 14251, sees < 14251\n", "", 1))
		}))
	silent(t, "no counter of the history", moments(pages(shop(), 900_000), 8, view))
	silent(t, "no moments", pages(growing(shop(), 12_000, 300), 900_000))
}

package schema

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/snap"
)

const (
	expire = "DELETE FROM tokens WHERE expires < 1000"
	touch  = "UPDATE tokens SET used = used + 1 WHERE id = 7"
)

func idOf(sql string) string { return class.ID(mytext.Fingerprint(sql)) }

func tokens() *snap.Made {
	return snap.Build().Table("tokens", 60_000, snap.Col("expires", "int", 4), snap.Col("used", "int", 4)).Index("e",
		false, 1000, "expires")
}

// deleting adds the DELETE with so many rows each time, beside updates.
func deleting(m *snap.Made, calls, rows uint64, sec float64) *snap.Made {
	return m.Exact(expire, calls, sec, rows, 0, affects(calls*rows)).Exact(touch, 5000, 0.003, 1, 0, affects(5000))
}

// queue is a moment in which two updates wait for the DELETE, or for somebody else.
func queue(blocker uint64) state.State {
	row := func(waiter uint64) state.Wait {
		return state.Wait{Kind: state.RowLock, Waiter: waiter, Blocker: known.Of(blocker), Object: "shop.tokens"}
	}
	return state.State{
		Sessions: []state.Session{
			{ID: 12, Command: "Query", DB: "shop", SQL: expire, ClassID: idOf(expire), Seconds: 0.9},
			{ID: 13, Command: "Query", DB: "shop", SQL: touch, ClassID: idOf(touch), Seconds: 0.8},
			{ID: 14, Command: "Query", DB: "shop", SQL: touch, ClassID: idOf(touch), Seconds: 0.4},
			{ID: 15, Command: "Sleep"},
		},
		Transactions: []state.Transaction{{
			Session: 12, Modified: known.Of(uint64(9000)),
			Locks: known.Of(uint64(9100)),
		}},
		Waits: []state.Wait{row(13), row(14)},
	}
}

func askDelete(m *snap.Made) []finding.Finding { return bigDelete(m.View()) }

func TestBigDelete(t *testing.T) {
	got := only(t, deleting(tokens(), 3, 16_000, 0.9).Moment(queue(12)).Moment(state.State{}).
		Status("Innodb_row_lock_time", 600), askDelete)
	if got.Confidence != finding.Certain || got.Subject.Tables[0].Table != "tokens" ||
		got.Subject.Classes[0] != idOf(expire) || got.Action != nil {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(got.Suggestion, "DELETE FROM `shop`.`tokens` WHERE … ORDER BY `expires` LIMIT 1000") ||
		got.Share < 0.25 || got.Share > 0.35 {
		t.Errorf("%s, share %v", got.Suggestion, got.Share)
	}
	// Nobody was seen to wait, but waiting is a good part of the time and others change the table.
	if got := only(t, deleting(tokens(), 3, 16_000, 0.9).Status("Innodb_row_lock_time", 600),
		askDelete); got.Confidence != finding.Likely || len(got.Against) == 0 {
		t.Errorf("%+v", got)
	}
	// It does not end within the window: no count has it.
	m := tokens().Exact(touch, 5000, 0.003, 1, 0, affects(5000)).Moment(queue(12))
	if got := only(t, m, askDelete); got.Confidence != finding.Likely || got.Evidence[0].Value.Or(0) != 9000 ||
		got.Share == 0 {
		t.Errorf("%+v", got)
	}
	// Classes that were only looked at.
	m = tokens().Sampled(expire, 3).Sampled(touch, 12).Moment(queue(12))
	if got := only(t, m, askDelete); !got.Evidence[0].Sampled {
		t.Errorf("%+v", got)
	}
	m = tokens().Exact("DELETE FROM tokens WHERE expires < 1000 LIMIT 50000", 3, 0.9, 16_000, 0, affects(48_000)).
		Exact(touch, 5000, 0.003, 1, 0, affects(5000)).Status("Innodb_row_lock_time", 600)
	if got := only(t, m, askDelete); !strings.Contains(got.Suggestion, "smaller LIMIT") {
		t.Errorf("%s", got.Suggestion)
	}
}

func TestBigDeleteSilent(t *testing.T) {
	f := func(name string, m *snap.Made) {
		t.Helper()
		if out := askDelete(m); len(out) > 0 {
			t.Errorf("%s: %s", name, out[0].Title)
		}
	}
	f("a thousand at a time", deleting(tokens(), 60, 1000, 0.02).Moment(queue(12)).Status("Innodb_row_lock_time", 600))
	f("nobody waits", deleting(tokens(), 3, 16_000, 0.9).Moment(state.State{}).Status("Innodb_row_lock_time", 0))
	f("others wait for somebody else, and not for long", deleting(tokens(), 3, 16_000, 0.9).Moment(queue(15)).
		Status("Innodb_row_lock_time", 20))
	m := tokens().Exact(expire, 3, 0.9, 16_000, 0, affects(48_000)).Table("rows", 1000, snap.Col("n", "int", 4)).
		Exact("UPDATE rows SET n = n + 1 WHERE id = 1", 5000, 0.003, 1, 0, affects(5000)).Status("Innodb_row_lock_time",
		900)
	f("others wait, for rows of another table", m)
	f("how long anybody waits is not known", deleting(tokens(), 3, 16_000, 0.9))
	m = deleting(tokens(), 3, 16_000, 0.9).Status("Innodb_row_lock_time", 600)
	m.S.Tables[0].Engine = "MyISAM"
	f("an engine that locks tables", m)
	f("quick", deleting(tokens(), 3, 16_000, 0.02).Status("Innodb_row_lock_time", 600))
	f("not one row", tokens().Exact(expire, 3, 0.9, 16_000, 0, affects(0)).Exact(touch, 5000, 0.003, 1, 0).
		Status("Innodb_row_lock_time", 600))
	f("rows are not counted, and nothing was seen", tokens().Exact(expire, 3, 0.9, 16_000, 0, func(c *class.Class) {
		c.Affected = known.None[uint64]()
	}).Exact(touch, 5000, 0.003, 1, 0).
		Status("Innodb_row_lock_time", 600))
	f("nothing", snap.Build())
}

// TestChunkOrder: parts of a delete are taken in an order that an index has.
func TestChunkOrder(t *testing.T) {
	key := func(name, column string) schema.Index {
		return schema.Index{Name: name, Parts: []schema.IndexPart{{Column: column}}}
	}
	f := func(where, want string, indexes ...schema.Index) {
		t.Helper()
		sh, err := sqlshape.Parse("DELETE FROM t WHERE " + where)
		if err != nil {
			t.Fatal(err)
		}
		if got := chunkOrder(schema.Table{Indexes: indexes}, sh); got != want {
			t.Errorf("%s: in the order of %q, want %q", where, got, want)
		}
	}
	pk, day, hidden := key("PRIMARY", "id"), key("by_day", "Day"), key("by_day", "day")
	hidden.Hidden = true
	f("day < '2026-01-01'", "Day", pk, day)
	f("day < '2026-01-01'", "id", pk)
	f("day < '2026-01-01'", "id", pk, hidden)
	f("seen < '2026-01-01' AND id < 5", "id", pk, day)
	f("seen < '2026-01-01' AND day < '2026-01-01'", "Day", pk, day)
	f("seen < '2026-01-01'", "")
}

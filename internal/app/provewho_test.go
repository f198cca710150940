package app

import (
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
)

// TestProofWhatElseChanged: what of an action or an undo is not known to have ended may go on, for a day at most, and a
// server is the same one in whichever database something was changed.
func TestProofWhatElseChanged(t *testing.T) {
	const server = "17:primary:5432::/data"
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	const cut = "not known to have ended: "
	now := at.Add(time.Hour)
	e := journal.Entry{
		ID: "a-1", Target: "shop", Server: server + "/shop", State: journal.Done, Started: at, Ended: at,
		Action: finding.Action{SQL: "CREATE INDEX", Undo: "DROP INDEX"},
	}
	for name, x := range map[string]struct {
		change func(*journal.Entry)
		text   string // of the last event
		until  time.Time
		ref    string
	}{
		"itself":         {func(*journal.Entry) {}, "a-1: CREATE INDEX", at, "a-1"},
		"undone":         {func(x *journal.Entry) { x.UndoneAt = now }, "undo of a-1: DROP INDEX", now, ""},
		"undo was begun": {func(x *journal.Entry) { x.UndoBegan = at }, cut + "undo of a-1: DROP INDEX", now, ""},
		"another runs": {
			func(x *journal.Entry) { x.ID, x.Ended = "a-2", time.Time{} }, cut + "a-2: CREATE INDEX", now, "a-2",
		},
		"another was cut": {func(x *journal.Entry) {
			x.ID, x.Started, x.Ended = "a-2", at.AddDate(0, 0, -9), time.Time{}
		}, cut + "a-2: CREATE INDEX", at.AddDate(0, 0, -8), "a-2"},
		"another database": {
			func(x *journal.Entry) { x.ID, x.Server = "a-2", server+"/crm" }, "a-2: CREATE INDEX", at, "a-2",
		},
		"another server": {
			func(x *journal.Entry) { x.ID, x.Server = "a-2", "18:primary:5432::/data/shop" },
			"another server had this name as action a-2 was made",
			time.Time{},
			"",
		},
		"another server and target": {func(x *journal.Entry) { x.Target, x.Server = "b", "18" }, "", time.Time{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			other := e
			x.change(&other)
			got := changesBy([]journal.Entry{other}, e, server, now)
			if x.text == "" {
				if len(got) > 0 {
					t.Errorf("%+v", got)
				}
				return
			}
			if len(got) == 0 {
				t.Fatal("nothing")
			}
			if l := got[len(got)-1]; l.Text != x.text || !l.Until.Equal(x.until) || l.Ref != x.ref {
				t.Errorf("%+v", got)
			}
		})
	}
}

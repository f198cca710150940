package config

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/snap"
)

// busyPools is a server with so many of 60 connections in use, by sessions that run one statement and by idle ones.
func busyPools(open, busy, idle int) *snap.Made {
	m := snap.Build().Set("max_connections", "60").Gauge("mysql_global_status_threads_connected", float64(open)).
		Symptom("connections-full", "connections", "connections are in use")
	x := state.State{}
	for range busy {
		x.Sessions = append(x.Sessions, state.Session{
			User: "app", Command: "Query",
			SQL: "SELECT * FROM t WHERE id = 7",
		})
	}
	for range idle {
		x.Sessions = append(x.Sessions, state.Session{User: "pool", Command: "Sleep"})
	}
	return m.Moment(x)
}

// told returns what the rule finds, which says all that people need.
func told(t *testing.T, m *snap.Made) (finding.Finding, bool) {
	t.Helper()
	got := connectionsFull(m.View())
	if len(got) == 0 {
		return finding.Finding{}, false
	}
	f := got[0]
	if len(got) > 1 || f.ID == "" || f.Title == "" || f.Cause == "" || len(f.Evidence) == 0 || f.Falsify == "" ||
		f.Suggestion == "" || f.Cost == "" || len(f.Why) == 0 || f.Share > 1 || f.Share <= 0 {
		t.Errorf("incomplete: %+v", got)
	}
	return f, true
}

func TestConnectionsFull(t *testing.T) {
	f, ok := told(t, busyPools(60, 50, 9))
	if !ok || f.Severity != finding.Critical || f.Title != "60 of 60 connections are in use: new clients are "+
		"refused; app holds 50" ||
		!strings.HasPrefix(f.Suggestion, "Most are active") || f.Why[1].Answer != "app holds 50, of which 0 are idle "+
		"and 50 run select * from t where id = ?." {
		t.Errorf("%v %+v", ok, f)
	}
	f, ok = told(t, busyPools(55, 5, 50))
	if !ok || f.Severity != finding.Warning || f.Title != "55 of 60 connections are in use; 50 of them are idle" ||
		!strings.HasPrefix(f.Suggestion, "Most are idle") {
		t.Errorf("%v %+v", ok, f)
	}
	m := busyPools(60, 50, 9)
	m.S.Moments = nil
	if f, ok = told(t, m); !ok ||
		f.Title != "60 of 60 connections are in use: new clients are refused" {
		t.Errorf("%v %+v", ok, f)
	}
}

func TestConnectionsFullSilent(t *testing.T) {
	f, ok := told(t, snap.Build().Set("max_connections", "60").Gauge("mysql_global_status_threads_connected", 20))
	if ok {
		t.Errorf("found: %s", f.Title)
	}
}

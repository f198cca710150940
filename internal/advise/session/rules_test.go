package session_test

import (
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/advise/session"
	"github.com/dyno-perf/dyno/internal/finding"
	mysql "github.com/dyno-perf/dyno/internal/mysql/advise/session"
	"github.com/dyno-perf/dyno/test/scene"
	"github.com/dyno-perf/dyno/test/snap"
)

// The scene of the tests, see package scene.
const (
	change = scene.Change
	lookup = scene.Lookup
)

var (
	blocked   = scene.Blocked
	busyLocks = scene.BusyLocks
	classOf   = scene.ClassOf
	closed    = scene.Closed
	has       = scene.Has
	hotRow    = scene.HotRow
	moments   = scene.Moments
	open      = scene.Open
	rowWait   = scene.RowWait
	shop      = scene.Shop
	sleeping  = scene.Sleeping
	stock     = scene.Stock
	working   = scene.Working
)

// rules are all that a server of MySQL's family is asked about its sessions: none speaks about another's cases.
func rules() []advise.Rule { return slices.Concat(session.Rules(), mysql.Rules()) }

func ask(t *testing.T, m *snap.Made, rule string) (own []finding.Finding, all []string) {
	t.Helper()
	return scene.Ask(t, m, rules(), rule)
}

func one(t *testing.T, m *snap.Made, rule string) finding.Finding {
	t.Helper()
	return scene.One(t, m, rules(), rule)
}

func silent(t *testing.T, what string, m *snap.Made) {
	t.Helper()
	scene.Silent(t, what, m, rules())
}

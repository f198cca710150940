package config

import (
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/test/snap"
)

func TestOldDefaults(t *testing.T) {
	f := func(m *snap.Made, names ...string) {
		t.Helper()
		got := oldDefaults(m.View())
		if len(got) != 1 || got[0].Severity != finding.Fact || !slices.Equal(got[0].Subject.Variables, names) ||
			len(got[0].Setting) != len(names) || got[0].Title == "" {
			t.Errorf("got %+v, want %v", got, names)
		}
	}
	f(snap.Build().MySQL("8.4.3").Set("innodb_io_capacity", "200").Set("innodb_flush_method", "O_DIRECT"),
		"innodb_io_capacity")
	f(snap.Build().MySQL("9.7.4").Set("innodb_change_buffering", "all").Set("innodb_flush_method", "fsync"),
		"innodb_flush_method", "innodb_change_buffering")
	f(snap.Build().Set("innodb_adaptive_hash_index", "ON"), "innodb_adaptive_hash_index")
}

func TestOldDefaultsSilent(t *testing.T) {
	silent(t, oldDefaults, "nothing is seen", snap.Build())
	silent(t, oldDefaults, "a version that has it as its default",
		snap.Build().MySQL("8.0.33").Set("innodb_io_capacity", "200").Set("innodb_flush_method", "fsync"))
	silent(t, oldDefaults, "a value that somebody chose", snap.Build().MySQL("8.4.3").Set("innodb_io_capacity", "900"))
	silent(t, oldDefaults, "the other flavor's", snap.Build().Set("innodb_io_capacity", "200"))
	silent(t, oldDefaults, "defaults of today", snap.Build().MySQL("9.7.4").Set("innodb_io_capacity", "10000").
		Set("innodb_flush_method", "O_DIRECT"))
}

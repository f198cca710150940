package config

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/test/snap"
)

func TestDurability(t *testing.T) {
	f := func(m *snap.Made, lines ...string) {
		t.Helper()
		got := durability(m.View())
		if len(got) != 1 || got[0].Severity != finding.Fact || strings.Join(got[0].Setting, ",") != strings.Join(lines,
			",") || got[0].Suggestion == "" || len(got[0].Evidence) == 0 {
			t.Errorf("got %+v, want %v", got, lines)
		}
	}
	safe := func() *snap.Made {
		return snap.Build().Set("innodb_flush_log_at_trx_commit", "1").Set("sync_binlog", "1").Set("log_bin", "ON").
			Set("innodb_doublewrite", "ON")
	}
	f(safe())
	f(safe().Set("innodb_flush_log_at_trx_commit", "2"), "innodb_flush_log_at_trx_commit = 1")
	f(safe().Set("sync_binlog", "0"), "sync_binlog = 1")
	f(safe().Set("sync_binlog", "100"), "sync_binlog = 1")
	f(safe().Set("sync_binlog", "0").Set("log_bin", "OFF")) // there is none to sync
	f(safe().Set("innodb_doublewrite", "OFF").Set("innodb_flush_log_at_trx_commit", "0"),
		"innodb_flush_log_at_trx_commit = 1", "innodb_doublewrite = ON")
	f(safe().Set("innodb_doublewrite", "DETECT_AND_RECOVER"))
}

func TestDurabilitySilent(t *testing.T) {
	silent(t, durability, "a server whose settings were not seen", snap.Build())
	for _, x := range durability(snap.Build().Set("innodb_flush_log_at_trx_commit", "0").View()) {
		if x.Severity != finding.Fact {
			t.Errorf("a choice is no fault: %+v", x)
		}
	}
}

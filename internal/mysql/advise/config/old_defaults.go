package config

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
)

// changedDefault is a default that newer versions replaced, with the reason as their manuals give it.
type changedDefault struct {
	name       string
	old, young string // as SHOW VARIABLES prints them
	mariadb    bool   // else MySQL and Percona Server
	since      []int  // version
	why        string
}

// changedDefaults lists those that matter to performance or to safety. Sources: "What Is New in MySQL 8.4" and the
// entries of the variables in the manuals; MariaDB's release notes and "InnoDB System Variables".
func changedDefaults() []changedDefault {
	return []changedDefault{
		{"innodb_io_capacity", "200", "10000", false, []int{8, 4}, "disks have become faster than spinning ones"},
		{"innodb_flush_method", "fsync", "O_DIRECT", false, []int{8, 4}, "pages are not kept twice in memory"},
		{"innodb_log_buffer_size", "16777216", "67108864", false, []int{8, 4}, "large transactions do not wait for it"},
		{"innodb_adaptive_hash_index", "ON", "OFF", false, []int{8, 4}, "its lock costs more than it saves under " +
			"many loads"},
		{"innodb_change_buffering", "all", "none", false, []int{8, 4}, "it saves reads of spinning disks only"},
		{"innodb_doublewrite_pages", "4", "128", false, []int{8, 4}, "fewer, larger writes"},
		{"innodb_numa_interleave", "OFF", "ON", false, []int{8, 4}, "the pool is spread over all memory"},
		{"max_allowed_packet", "4194304", "67108864", false, []int{8, 0}, "statements have become longer"},
		{"innodb_autoinc_lock_mode", "1", "2", false, []int{8, 0}, "inserts of many rows wait less for each other; " +
			"it needs row-based logging"},
		{"sync_binlog", "0", "1", false, []int{5, 7}, "the binary log survives a crash"},
		{"innodb_flush_method", "fsync", "O_DIRECT", true, []int{10, 6}, "pages are not kept twice in memory"},
		{"innodb_adaptive_hash_index", "ON", "OFF", true, []int{10, 5}, "its lock costs more than it saves under " +
			"many loads"},
		{"innodb_change_buffering", "all", "none", true, []int{10, 5}, "it saves reads of spinning disks only"},
	}
}

// oldDefaults lists settings that hold the default of an older version, as configurations that came along with upgrades
// do. Whether that is somebody's choice is not to be seen: it is a fact to look at.
func oldDefaults(v *advise.View) []finding.Finding {
	f := finding.Finding{
		ID: finding.MakeID("old-defaults", "settings"), Rule: "old-defaults", Severity: finding.Fact,
		Confidence: finding.Possible, File: "my.cnf",
		Cause: "Configurations outlive versions. These settings have the default of an older version, not of " +
			"this one.",
		Falsify: "Disproved where the value was chosen on purpose.",
		Cost:    "What each change costs is in the manual's entry of the setting; try one at a time.",
		Reference: "MySQL Reference Manual, Server and Status Variables Changed; MariaDB Knowledge Base, InnoDB " +
			"System Variables.",
	}
	for _, d := range changedDefaults() {
		if d.mariadb != v.MariaDB() || !v.AtLeast(d.since...) {
			continue
		}
		if now, ok := v.Variable(d.name); ok && equal(now, d.old) {
			f.Subject.Variables = append(f.Subject.Variables, d.name)
			f.Setting = append(f.Setting, d.name+" = "+d.young)
			f.Evidence = append(f.Evidence, finding.Evidence{
				What: d.name, Source: source.Variables,
				Text: fmt.Sprintf("%s is %s; the default is %s since %d.%d: %s.", d.name, now, d.young,
					d.since[0], d.since[1], d.why),
			})
		}
	}
	if len(f.Evidence) == 0 {
		return nil
	}
	f.Title = fmt.Sprintf("%d settings have the default of an older version", len(f.Evidence))
	if len(f.Evidence) == 1 {
		f.Title = f.Subject.Variables[0] + " has the default of an older version"
	}
	f.Suggestion = "Remove the lines from the configuration for which no reason is known."
	return []finding.Finding{f}
}

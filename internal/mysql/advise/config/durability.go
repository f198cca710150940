package config

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
)

// durability states what a crash may cost with the settings as they are. It is a fact, no judgement: nothing suffers
// from it while the server runs, and only its owner knows what a lost transaction is worth.
func durability(v *advise.View) []finding.Finding {
	flush, ok := v.Variable("innodb_flush_log_at_trx_commit")
	if !ok {
		return nil
	}
	var lost, names []string
	lines := []string{}
	add := func(name, now, safe, what string) {
		lost, names = append(lost, what), append(names, name)
		if now != safe {
			lines = append(lines, name+" = "+safe)
		}
	}
	switch flush {
	case "0":
		add("innodb_flush_log_at_trx_commit", flush, "1", "a crash of the server, the system or the machine loses "+
			"the commits of about the last second")
	case "2":
		add("innodb_flush_log_at_trx_commit", flush, "1", "a crash of the system or the machine loses the commits of "+
			"about the last second, one of the server alone loses none")
	}
	if n, ok := v.Variable("sync_binlog"); ok && n != "1" && v.On("log_bin") {
		what := "the binary log is left to the system to write: after a crash of the machine it may miss commits " +
			"that InnoDB has, or hold commits that InnoDB has not, and replicas differ"
		if n != "0" {
			what = fmt.Sprintf("a crash of the machine may lose the last %s groups of commits from the binary log, "+
				"and replicas differ", n)
		}
		add("sync_binlog", n, "1", what)
	}
	if x, ok := v.Variable("innodb_doublewrite"); ok && !v.On("innodb_doublewrite") &&
		!equal(x, "DETECT_AND_RECOVER") && !equal(x, "FAST") {
		// the latter is MariaDB's: pages are doubled all the same
		add("innodb_doublewrite", x, "ON", "a page that was half written when the power went cannot be repaired, "+
			"unless the filesystem writes whole pages")
	}
	f := finding.Finding{
		ID: finding.MakeID("durability", "settings"), Rule: "durability", Severity: finding.Fact,
		Confidence: finding.Certain,
		Subject:    finding.Subject{Variables: names}, Setting: lines, File: "my.cnf",
		Title: "every commit is on the disk when it is acknowledged",
		Cause: "innodb_flush_log_at_trx_commit, sync_binlog and innodb_doublewrite decide what a crash may cost, " +
			"and what each commit costs.",
		Reference: "MySQL Reference Manual, innodb_flush_log_at_trx_commit, sync_binlog, innodb_doublewrite; MariaDB " +
			"Knowledge Base, Group Commit.",
		Falsify: "Disproved if the disk acknowledges what it has not written: then nothing is safe whatever is set.",
	}
	for _, n := range []string{"innodb_flush_log_at_trx_commit", "log_bin", "sync_binlog", "innodb_doublewrite"} {
		if x, ok := v.Variable(n); ok {
			f.Evidence = append(f.Evidence, finding.Evidence{What: n, Source: source.Variables, Text: n + " = " + x +
				"."})
		}
	}
	if len(lost) == 0 {
		f.Suggestion = "Nothing to do. Each commit pays for it with a sync of the disk or two; transactions of more " +
			"rows pay less for each."
		return []finding.Finding{f}
	}
	f.Title = "a crash may cost commits: " + strings.Join(names, ", ")
	f.Suggestion = "With the present settings, " + strings.Join(lost, "; ") + ". Where that must not be: " +
		strings.Join(lines, ", ") + "."
	f.Cost = "A sync of the disk or two for each group of commits."
	return []finding.Finding{f}
}

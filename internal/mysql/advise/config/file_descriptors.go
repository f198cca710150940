package config

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
)

// spareFiles are descriptors for logs, temporary files and the like.
const spareFiles = 100

// fileDescriptors adds up the files and sockets that the server may have open by its settings, and holds that against
// what it may. It is a fact as long as no file was refused.
func fileDescriptors(v *advise.View) []finding.Finding {
	cache, ok1 := v.Number("table_open_cache").Get()
	sessions, ok2 := v.Number("max_connections").Get()
	limit, ok3 := v.Number("open_files_limit").Get()
	if !ok1 || !ok2 || !ok3 {
		return nil
	}
	if n, ok := v.Host.Limits["max_open_files"]; ok && n >= 0 && (limit <= 0 || float64(n) < limit) {
		limit = float64(n)
	}
	files := v.Number("innodb_open_files").Or(0)
	want := sessions + filesPerTable*cache + files + spareFiles
	if limit <= 0 || want <= limit {
		return nil
	}
	f := finding.Finding{
		ID: finding.MakeID("file-descriptors", "open_files_limit"), Rule: "file-descriptors", Severity: finding.Fact,
		Confidence: finding.Likely, File: "my.cnf", Restart: true,
		Subject: finding.Subject{Variables: []string{"open_files_limit", "table_open_cache", "max_connections"}},
		Title:   fmt.Sprintf("the settings may take %.0f file descriptors, and the server may have %.0f", want, limit),
		Cause: "Each session takes a socket, an open table up to two files, and InnoDB keeps its own open. When " +
			"none is left, connections and tables are refused.",
		Evidence: []finding.Evidence{fact("file descriptors, worst case", want, "",
			fmt.Sprintf("≤ %.0f", limit), source.Variables,
			"%.0f sessions + %d × %.0f tables + %.0f files of InnoDB + %d = %.0f.", sessions, filesPerTable, cache,
			files, spareFiles, want)},
		Suggestion: fmt.Sprintf("Raise the limit to %.0f: open_files_limit in my.cnf, and LimitNOFILE in the unit of "+
			"the service.", want),
		Setting: []string{fmt.Sprintf("open_files_limit = %.0f", want)},
		Cost:    "None: an unused descriptor takes no memory.",
		Falsify: "Disproved if tables of InnoDB alone are used: they share their files, and far fewer are open.",
		Reference: "MySQL Reference Manual, open_files_limit; MariaDB Knowledge Base, Server System Variables, " +
			"open_files_limit.",
	}
	if open, ok := v.Last("dyno_server_open_fds").Get(); ok {
		f.Against = append(f.Against, fmt.Sprintf("The server has %.0f open now.", open))
	}
	return []finding.Finding{f}
}

package host

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise/host"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
)

const (
	// filesFull is the part of the file descriptors in use at which the next burst of connections or tables may find
	// none.
	filesFull = 0.9
	// filesEach is how many files an open table counts for: its handle and its share of partitions and temporary files.
	filesEach = 2
)

// fileLimit finds a server near the end of its file descriptors, and as a fact one that may not open what its settings
// promise.
func fileLimit(v *advise.View) []finding.Finding {
	most, ok := v.Host.Limits["max_open_files"]
	if !ok || most < 0 {
		return nil
	}
	f := host.About("file-limit", "max_open_files")
	f.Evidence = append(f.Evidence, host.Measured("max_open_files", float64(most), "files", "", source.HostFacts,
		"The server's process may open %d files.", most))
	conns, ok1 := v.Number("max_connections").Get()
	tables, ok2 := v.Number("table_open_cache").Get()
	want := most * 2
	if ok1 && ok2 {
		want = max(want, int64(conns+filesEach*tables)+100)
	}
	f.Setting, f.File, f.Restart = []string{"[Service]", fmt.Sprintf("LimitNOFILE = %d", want)},
		"/etc/systemd/system/SERVICE.service.d/limits.conf", true
	f.Reference = "https://dev.mysql.com/doc/refman/en/file-descriptor-requirements.html"
	open, seen := v.Last("dyno_server_open_fds").Get()
	switch {
	case seen && open >= filesFull*float64(most):
		f.Severity, f.Confidence = finding.Warning, finding.Certain
		f.Title = fmt.Sprintf("the server has %.0f of %d files open", open, most)
		f.Cause = "Connections, tables and temporary files each take a file descriptor. When none is left the server " +
			"refuses connections and statements fail."
		f.Evidence = append(f.Evidence, host.Measured("files open", open, "files",
			fmt.Sprintf("< %.0f", filesFull*float64(most)), source.Process, "%.0f of them are open.", open))
		f.Falsify = "Disproved if the number of open files stays where it is while connections and tables come."
		f.Suggestion = "Raise the limit of the service, and open_files_limit with it where it is set."
		f.Cost = "Some memory of the kernel for each open file."
		f.Why = []finding.Reason{{Ask: "How many more files can it open?", Answer: fmt.Sprintf("%.0f of %d",
			float64(most)-open, most), Source: source.Process}}
	case ok1 && ok2 && conns+filesEach*tables > float64(most):
		f.Title = fmt.Sprintf("the settings ask for up to %.0f files, the process may open %d",
			conns+filesEach*tables, most)
		f.Evidence = append(f.Evidence, host.Measured("files for all connections and open tables",
			conns+filesEach*tables, "files", fmt.Sprintf("≤ %d", most), source.Variables,
			"max_connections %.0f and %d × table_open_cache %.0f may need that many.", conns, filesEach, tables))
		f.Suggestion = "Raise the limit of the service before the server reaches it; today there is room."
	default:
		return nil
	}
	return []finding.Finding{f}
}

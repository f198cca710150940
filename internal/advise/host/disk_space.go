package host

import (
	"fmt"

	"dyno/internal/advise"
	"dyno/internal/finding"
	"dyno/internal/unit"
)

// Both must hold: a part alone would call half a terabyte too little, a size alone would call every small disk full.
const (
	littleSpace     = 0.05 // of the filesystem
	littleSpaceSize = 50 << 30
	noSpace         = 0.02
	noSpaceSize     = 5 << 30
)

// diskSpace finds a filesystem of the data that is nearly full.
func diskSpace(v *advise.View) []finding.Finding {
	avail, ok1 := v.Last("node_filesystem_avail_bytes").Get()
	size, ok2 := v.Last("node_filesystem_size_bytes").Get()
	if !ok1 || !ok2 || size <= 0 || avail >= littleSpace*size || avail >= littleSpaceSize {
		return nil
	}
	f := about("disk-space")
	f.Severity, f.Confidence = finding.Warning, finding.Certain
	if avail < noSpace*size && avail < noSpaceSize {
		f.Severity = finding.Critical
	}
	f.Title = fmt.Sprintf("the filesystem of the data has %s free of %s", unit.Bytes(avail), unit.Bytes(size))
	f.Cause = "When it is full, writes fail or wait until there is space again, and a server that is started may not come up."
	f.Evidence = append(f.Evidence, measured("free space", avail, "B", "≥ "+unit.Bytes(min(littleSpace*size, littleSpaceSize)), "host_detail",
		"%s of %s are free, %s.", unit.Bytes(avail), unit.Bytes(size), unit.Percent(avail/size)))
	f.Falsify = "It is wrong if df on the server's machine shows more space for the data directory."
	f.Suggestion = "Find out what grows: binary logs (SHOW BINARY LOGS; PURGE BINARY LOGS once the replicas have read them), temporary and undo tablespaces, logs, other files of the same disk. Or enlarge the disk."
	f.Cost = "None to look."
	f.Why = []finding.Reason{{Ask: "How much space is left for the data?", Answer: fmt.Sprintf("%s of %s", unit.Bytes(avail), unit.Bytes(size)), Source: "host_detail"}}
	return []finding.Finding{f}
}

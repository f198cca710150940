package diagnose

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// waiting is the share of the machine's CPU time spent idle while a disk was at work from which disks are taken for
// what holds the server back. Below it a few background writes explain it.
const waiting = 0.2

// IOWait looks at the time that the machine's CPUs wait for its disks.
func IOWait(s *snapshot.Snapshot) []finding.Symptom {
	share := hostShare(s, func(mode string) bool { return mode == "iowait" })
	v, ok := share.Get()
	if !ok || v < waiting {
		return nil
	}
	ev := []finding.Evidence{{
		What: "CPU time waiting for disks", Value: known.Of(v * 100), Unit: "%", Source: source.Host,
		Expected: fmt.Sprintf("< %.0f", waiting*100),
		Text:     fmt.Sprintf("%s of the machine's CPU time was idle with a busy disk.", unit.Percent(v)),
	}}
	if r := s.Rate("dyno_server_io_read_bytes_total"); r.OK() {
		ev = append(ev, finding.Evidence{
			What: "bytes read by the server", Value: r, Unit: "B/s", Source: source.Process,
			Text: fmt.Sprintf("The server's process read %s/s from storage.", unit.Bytes(r.Or(0))),
		})
	}
	return []finding.Symptom{{
		ID: finding.IOWait.ID(), Kind: finding.IOWait, Subject: "disk",
		Title: fmt.Sprintf("the machine waits for its disks %s of the time", unit.Percent(v)), Evidence: ev,
	}}
}

package host

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// littleRoom is how much of a file system of that size should be free, bytes: with half of it, what Dyno leaves to
// others by default, nothing is stored any more.
func littleRoom(size float64) float64 { return max(size/10, min(4<<30, size*2/5)) }

const (
	// enoughRoom is free space that is no matter of concern on a file system of any size that Dyno does not share.
	enoughRoom = 40 << 30
	// lastRoom is free space that a server uses up in minutes.
	lastRoom = 1 << 30
)

// diskFull finds a data directory on a file system that is full or nearly so.
func diskFull(v *advise.View) []finding.Finding {
	free, ok1 := v.Host.DatadirFree.Get()
	size, ok2 := v.Host.DatadirSize.Get()
	room, least, shared := float64(free), littleRoom(float64(size)), v.Host.DatadirShared
	if !shared {
		least = min(least, enoughRoom)
	}
	if !ok1 || !ok2 || room >= least {
		return nil
	}
	f := About("disk-full", "datadir")
	f.Title = fmt.Sprintf("the file system of the data directory has %s free of %s", unit.Bytes(room),
		unit.Bytes(float64(size)))
	f.Suggestion = "Find out what grows: "
	if v.Dialect.Growing != "" {
		f.Suggestion += v.Dialect.Growing + ", "
	}
	f.Suggestion += "logs, other files of the same disk. Or enlarge the disk."
	f.Cost = "None for the server."
	who := "the server, and whatever else is on the same file system"
	if shared {
		f.Title += "; Dyno's home is on it, too"
		f.Suggestion += " Dyno's home can move to another file system (DYNO_HOME). " +
			"Dyno stores less with a smaller --max-size of dyno serve, and leaves more to the server with a larger " +
			"--reserve."
		who = "the server, and Dyno on the same file system"
	}
	f.Evidence = append(f.Evidence, Measured("free space of the data directory", room, "B",
		"> "+unit.Bytes(least), source.HostFacts,
		"%s of %s are free where the server's data are.", unit.Bytes(room), unit.Bytes(float64(size))))
	if room < least/2 {
		f.Severity, f.Confidence = finding.Warning, finding.Likely
		if room < min(lastRoom, float64(size)/50) {
			f.Severity = finding.Critical
		}
		f.Cause = "A server whose disk is full stops: writes wait or fail until there is room."
		if shared {
			f.Cause += " What Dyno stores takes room from the same file system; with its default reserve it has " +
				"stopped storing by now."
		}
		f.Falsify = "Disproved if the free space does not shrink and the server needs no more of it."
		f.Why = []finding.Reason{
			{Ask: "Is there room for the server's data to grow?", Answer: unit.Bytes(room) +
				" are free", Source: source.HostFacts},
			{Ask: "What uses it?", Answer: who, Source: source.HostFacts},
		}
	}
	return []finding.Finding{f}
}

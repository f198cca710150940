package host

import (
	"fmt"

	"dyno/internal/advise"
	"dyno/internal/finding"
	"dyno/internal/unit"
)

// littleRoom is how much of a file system of that size should be free, bytes: with half of it, what Dyno leaves to others by default,
// nothing is stored any more.
func littleRoom(size float64) float64 { return max(size/10, min(4<<30, size*2/5)) }

// sharedDisk finds a data directory that shares a nearly full file system with what Dyno stores.
func sharedDisk(v *advise.View) []finding.Finding {
	free, ok1 := v.Host.DatadirFree.Get()
	size, ok2 := v.Host.DatadirSize.Get()
	room, least := float64(free), littleRoom(float64(size))
	if !ok1 || !ok2 || !v.Host.DatadirShared || room >= least {
		return nil
	}
	f := about("shared-disk", "datadir")
	f.Title = fmt.Sprintf("the data directory shares a file system with Dyno's home, and %s of it are free", unit.Bytes(room))
	f.Evidence = append(f.Evidence, measured("free space of the data directory", room, "B", "> "+unit.Bytes(least), "host_facts",
		"%s of %s are free where both the server's data and Dyno's stores are.", unit.Bytes(room), unit.Bytes(float64(size))))
	f.Suggestion = "Free some space, or move Dyno's home to another file system (DYNO_HOME). Dyno stores less with a smaller --max-size of dyno serve, and leaves more to the server with a larger --reserve."
	f.Cost = "None for the server."
	if room < least/2 {
		f.Severity, f.Confidence = finding.Warning, finding.Likely
		f.Cause = "A server whose disk is full stops: writes wait or fail until there is room. What Dyno stores takes room from the same file system; with its default reserve it has stopped storing by now."
		f.Falsify = "It is wrong if the free space does not shrink and the server needs no more of it."
		f.Why = []finding.Reason{
			{Ask: "Is there room for the server's data to grow?", Answer: unit.Bytes(room) + " are free", Source: "host_facts"},
			{Ask: "Who takes it?", Answer: "the server, and Dyno on the same file system", Source: "host_facts"},
		}
	}
	return []finding.Finding{f}
}

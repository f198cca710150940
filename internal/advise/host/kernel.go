package host

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
)

// SysctlFile is where lines for the kernel go.
const SysctlFile = "/etc/sysctl.d/60-database.conf"

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule {
	return []advise.Rule{
		{Name: "swapping", Doc: "a server that is swapped out, or soon may be", Find: swapping},
		{Name: "cpu-throttled", Doc: "a server that is throttled by its cgroup's CPU quota", Find: cpuThrottled},
		{Name: "overcommit", Doc: "a kernel that refuses memory or overcommits it", Find: overcommit},
		{Name: "dirty-ratios", Doc: "how much written data the kernel lets pile up", Find: dirtyRatios},
		{Name: "transparent-huge-pages", Doc: "transparent huge pages", Find: transparentHugePages},
		{Name: "io-scheduler", Doc: "the order in which requests reach the disk", Find: ioScheduler},
		{Name: "numa", Doc: "memory of one node that fills first", Find: numa},
		{
			Name: "disk-full", Doc: "a full or nearly full disk of the data directory, shared with Dyno or not",
			Find: diskFull,
		},
		{Name: "clock-source", Doc: "a clock that is slow to read", Find: clockSource},
	}
}

// About returns a finding about a setting of the machine, as a fact until something shows that it hurts.
func About(rule string, subject ...string) finding.Finding {
	return finding.Finding{
		Rule: rule, ID: finding.MakeID(rule, subject...), Severity: finding.Fact, Confidence: finding.Likely,
		Subject: finding.Subject{Variables: subject},
		Valid:   "Linux", Cost: "None known; set the old value to undo.",
	}
}

// Setting returns a number among the kernel's settings; unknown when it could not be read.
func Setting(v *advise.View, name string) known.Value[float64] {
	x, err := strconv.ParseFloat(strings.TrimSpace(v.Host.Settings[name]), 64)
	if err != nil {
		return known.None[float64]()
	}
	return known.Of(x)
}

// chosen returns which word of a list like "always [madvise] never" is in force; the whole when none is marked.
func chosen(s string) string {
	if _, rest, ok := strings.Cut(s, "["); ok {
		if in, _, ok := strings.Cut(rest, "]"); ok {
			return in
		}
	}
	return strings.TrimSpace(s)
}

// Is is the evidence that a setting has a value.
func Is(name, value, expected string) finding.Evidence {
	e := finding.Evidence{
		What: name, Expected: expected, Source: source.HostFacts,
		Text: fmt.Sprintf("%s is %s.", name, value),
	}
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		e.Value = known.Of(n)
	}
	return e
}

// Measured is the evidence of a figure.
func Measured(what string, value float64, unit, expected string, from source.Name, format string,
	a ...any,
) finding.Evidence {
	return finding.Evidence{
		What: what, Value: known.Of(value), Unit: unit, Expected: expected, Source: from,
		Text: fmt.Sprintf(format, a...),
	}
}

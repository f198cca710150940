package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
)

// clockSource finds a clock that takes a call into the kernel, or to a device, each time it is read.
func clockSource(v *advise.View) []finding.Finding {
	const path = "devices/system/clocksource/clocksource0/"
	now := strings.TrimSpace(v.Host.Settings[path+"current_clocksource"])
	if now != "hpet" && now != "acpi_pm" && now != "xen" && now != "refined-jiffies" && now != "jiffies" {
		return nil
	}
	f := About("clock-source", path+"current_clocksource")
	f.Title = fmt.Sprintf("the clock is read from %s, which is slow", now)
	f.Evidence = append(f.Evidence, Is("clock source", now, "tsc or kvm-clock"))
	f.Suggestion = "A server reads the clock several times for each statement" + v.Dialect.Clocked + "; from the " +
		"CPU's own counter that takes nanoseconds, from this source up to microseconds."
	f.Reference = "https://docs.kernel.org/timers/timekeeping.html"
	if can := strings.Fields(v.Host.Settings[path+"available_clocksource"]); slices.Contains(can, "tsc") {
		f.Suggestion += " Try the other: echo tsc > /sys/" + path + "current_clocksource, and check that the time " +
			"stays right."
		f.Setting, f.File = []string{"clocksource=tsc"}, "the kernel's command line"
	} else {
		f.Suggestion += " This machine offers no better one; the kernel log says why (a counter that differs between " +
			"CPUs, or a host that hides it)."
	}
	return []finding.Finding{f}
}

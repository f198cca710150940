package host

import (
	"testing"

	"github.com/dyno-perf/dyno/test/machine"
)

func TestClockSource(t *testing.T) {
	const now = "devices/system/clocksource/clocksource0/current_clocksource"
	found(t, clockSource, kernel(machine.New(), now, "hpet"), "fact: the clock is read from hpet, which is slow | "+
		"clocksource=tsc")
	m := kernel(machine.New(), now, "acpi_pm")
	m.S.Host.Settings["devices/system/clocksource/clocksource0/available_clocksource"] = "acpi_pm"
	found(t, clockSource, m, "fact: the clock is read from acpi_pm, which is slow")
}

func TestClockSourceSilent(t *testing.T) {
	found(t, clockSource, machine.New())
	found(t, clockSource, kernel(machine.New(), "devices/system/clocksource/clocksource0/current_clocksource",
		"kvm-clock"))
}

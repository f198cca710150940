package state

import (
	"slices"
	"time"
)

// Trail makes vitals of one reading after another. Where the figures of the machine come only every few readings, their
// rates are over the time since they came before, and they hold until they come again, at most machineHolds. The zero
// value is ready to use.
type Trail struct {
	prev   Figures
	at     time.Time // of prev; zero for none
	host   Figures   // the newest with figures of the machine
	hostAt time.Time
	held   []Vital // of the machine, while its figures come rarely
}

const (
	machineHolds = 10 * time.Second
	machineGap   = 15 * time.Second // a rate is not over more
)

// ofMachine are the vitals of the machine.
var ofMachine = []string{
	HostCPUBusy, HostCPUSystem, HostIOWait, HostSteal, HostCPUs, MemAvailable, DiskReads, DiskWrites, DiskReadBytes,
	DiskWriteBytes, DiskBusy, PressureCPU, PressureIO, PressureMemory,
}

// Next returns the vitals of a reading that was taken at a time, see Between; none of the first one.
func (t *Trail) Next(now Figures, at time.Time) []Vital {
	var out []Vital
	if !t.at.IsZero() {
		out = Between(t.prev, now, at.Sub(t.at).Seconds())
	}
	here, passed := now.known[cpuAll] || now.known[cpuEachAll], at.Sub(t.hostAt)
	switch {
	case here && t.hostAt.Equal(t.at):
		t.held = nil
	case here && passed > 0 && passed <= machineGap:
		t.held = slices.DeleteFunc(Between(t.host, now, passed.Seconds()), func(v Vital) bool {
			return !slices.Contains(ofMachine, v.Name)
		})
	case here || passed < 0 || passed > machineHolds:
		t.held = nil
	}
	if here {
		t.host, t.hostAt = now, at
	}
	t.prev, t.at = now, at
	if len(t.held) == 0 {
		return out
	}
	out = slices.DeleteFunc(out, func(v Vital) bool { return slices.Contains(ofMachine, v.Name) })
	return append(out, t.held...)
}

// Break says that there was no reading: nothing is compared with one before it.
func (t *Trail) Break() { *t = Trail{} }

package host

import (
	"testing"

	"github.com/dyno-perf/dyno/test/machine"
)

func TestIoScheduler(t *testing.T) {
	found(t, ioScheduler, kernel(machine.New(), "block/sda/queue/scheduler", "none mq-deadline kyber [bfq]"),
		`fact: the disk of the data has the scheduler bfq | ACTION=="add|change", KERNEL=="sda", ATTR{queue/scheduler}="mq-deadline"`)
	found(t, ioScheduler, kernel(machine.New(), "block/sda/queue/scheduler", "noop deadline [cfq]"),
		`fact: the disk of the data has the scheduler cfq | ACTION=="add|change", KERNEL=="sda", ATTR{queue/scheduler}="deadline"`)
}

func TestIoSchedulerSilent(t *testing.T) {
	found(t, ioScheduler, machine.New())
	found(t, ioScheduler, kernel(machine.New(), "block/sda/queue/scheduler", "[none]"))
	found(t, ioScheduler, kernel(machine.New(), "block/sdb/queue/scheduler", "none [bfq]")) // another disk
}

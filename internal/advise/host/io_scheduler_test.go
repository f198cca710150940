package host

import "testing"

func TestIoScheduler(t *testing.T) {
	found(t, ioScheduler, kernel(machine(), "block/sda/queue/scheduler", "none mq-deadline kyber [bfq]"),
		`fact: the disk of the data has the scheduler bfq | ACTION=="add|change", KERNEL=="sda", ATTR{queue/scheduler}="mq-deadline"`)
	found(t, ioScheduler, kernel(machine(), "block/sda/queue/scheduler", "noop deadline [cfq]"),
		`fact: the disk of the data has the scheduler cfq | ACTION=="add|change", KERNEL=="sda", ATTR{queue/scheduler}="deadline"`)
}

func TestIoSchedulerSilent(t *testing.T) {
	found(t, ioScheduler, machine())
	found(t, ioScheduler, kernel(machine(), "block/sda/queue/scheduler", "[none]"))
	found(t, ioScheduler, kernel(machine(), "block/sdb/queue/scheduler", "none [bfq]")) // another disk
}

package panel

import "github.com/dyno-perf/dyno/internal/source"

// NoHost tells why what the machine says may be missing.
const NoHost = "the machine can be observed only where Dyno runs on it, reaches it by ssh, or has the URL of its " +
	"node_exporter"

// CPU is the panel of the machine's CPUs.
func CPU() Panel {
	cpu := func(name, modes string) Line {
		return NewLine(name, source.Host, Sum(Rate("node_cpu_seconds_total", Like("mode", modes)))).Else(NoHost)
	}
	return Panel{
		ID: "cpu", Group: Busy, Title: "CPU of the machine", Unit: "cores", Stacked: true,
		About: "CPU time a second by mode; the sum is what the machine has. Stolen time went to other guests of " +
			"the host.", Lines: []Line{
			cpu("user", "user|nice"),
			cpu("system", "system|irq|softirq"),
			cpu("waiting for disk", "iowait"),
			cpu("stolen", "steal"),
			cpu("idle", "idle").AsRest(),
		},
	}
}

// whole matches disks but for devices that are made of others.
func whole() Match { return Unlike("device", "(dm-|md|loop|zram|sr).*") }

func disk(name, series string) Line {
	return NewLine(name, source.Host, Sum(Rate(series, whole())), Sum(Rate(series))).Else(NoHost)
}

// DiskOperations is the panel of what the machine's disks do.
func DiskOperations() Panel {
	return Panel{
		ID: "diskops", Group: Limit, Title: "Disk operations", Unit: "/s",
		About: "Reads and writes of the machine's disks, by all programs.", Lines: []Line{
			disk("reads", "node_disk_reads_completed_total"),
			disk("writes", "node_disk_writes_completed_total"),
		},
	}
}

// DiskThroughput is the panel of the bytes to and from the machine's disks.
func DiskThroughput() Panel {
	return Panel{
		ID: "diskbytes", Group: Limit, Title: "Disk throughput", Unit: "B/s",
		About: "Bytes to and from the machine's disks, and what of it is the server's.", Lines: []Line{
			disk("read", "node_disk_read_bytes_total"),
			disk("written", "node_disk_written_bytes_total"),
			NewLine("read by the server", source.Process, Sum(Rate("dyno_server_io_read_bytes_total"))).Else(NoHost),
			NewLine("written by the server", source.Process,
				Sum(Rate("dyno_server_io_written_bytes_total"))).Else(NoHost),
		},
	}
}

// DiskBusy is the panel of how busy the machine's disks are.
func DiskBusy() Panel {
	return Panel{
		ID: "diskbusy", Group: Limit, Title: "Disk busy", Unit: "ratio",
		About: "Share of the time in which a disk " +
			"had something to do, the busiest of them. A disk that serves many requests at once can do more at " +
			"100 %.",
		Lines: []Line{
			NewLine("busy", source.Host,
				Way{Terms: []Term{Rate("node_disk_io_time_seconds_total", whole())}, Most: true},
				Way{Terms: []Term{Rate("node_disk_io_time_seconds_total")}, Most: true}).Else(NoHost),
		},
	}
}

// Memory is the panel of the machine's memory. The server's is told in the lines given, or in one without any.
func Memory(server ...Line) Panel {
	const (
		rss   = "dyno_server_resident_bytes"
		total = "node_memory_MemTotal_bytes"
		avail = "node_memory_MemAvailable_bytes"
	)
	if len(server) == 0 {
		server = []Line{NewLine("the server", source.Process, Sum(Gauge(rss))).Else(NoHost)}
	}
	return Panel{
		ID: "memory", Group: Limit, Title: "Memory of the machine", Unit: "B", Stacked: true,
		About: "Use of memory. Available memory includes file caches that can be reclaimed.", Lines: append(server,
			NewLine("others", source.Host, Sum(Gauge(total), Less(Gauge(avail)), Less(Gauge(rss)))).Else(NoHost),
			NewLine("available", source.Host, Sum(Gauge(avail))).Else(NoHost).AsRest(),
		),
	}
}

// Pressure is the panel of what processes wait for, as the kernel counts it.
func Pressure() Panel {
	return Panel{
		ID: "pressure", Group: Limit, Title: "Resource pressure (PSI)", Unit: "ratio",
		About: "Share of the time in which some process was stalled for lack of a CPU, the disk or memory.",
		Lines: []Line{
			NewLine("CPU", source.Host, Sum(Rate("node_pressure_cpu_waiting_seconds_total"))).Else(NoHost),
			NewLine("disk", source.Host, Sum(Rate("node_pressure_io_waiting_seconds_total"))).Else(NoHost),
			NewLine("memory", source.Host, Sum(Rate("node_pressure_memory_waiting_seconds_total"))).Else(NoHost),
		},
	}
}

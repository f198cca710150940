package config

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/test/snap"
)

// throttled is a server with 500 reads a second of 10 ms, from a disk that answers in 0.3 ms.
func throttled(more ...func(*snap.Made)) *snap.Made {
	m := archive(drop("mysql_perf_schema_file_events_total"), drop("mysql_perf_schema_file_events_seconds_total"))
	fileReads(m, 500, 0.010)
	m.S.Classes[0].TimeSec = 70
	m.S.Host.DatadirDev = "sda"
	m.Status("Innodb_data_reads", 500)
	m.Rate("node_disk_io_time_seconds_total", 0.2, "device", "sda").Rate("node_disk_read_time_seconds_total",
		0.15, "device", "sda").
		Rate("node_disk_reads_completed_total", 500, "device", "sda").Rate("node_disk_read_bytes_total",
		500*16384, "device", "sda")
	replace("dyno_server_io_read_bytes_total", 500*16384)(m)
	for _, f := range more {
		f(m)
	}
	return m
}

// uneven makes the reads of a second differ from those of the next.
func uneven(m *snap.Made) {
	for i := range m.S.Series {
		if x := &m.S.Series[i]; x.Name == "mysql_global_status_innodb_data_reads" {
			for n := range x.Points {
				x.Points[n].Value += 200 * float64(n%2)
			}
		}
	}
}

func TestIoLimit(t *testing.T) {
	f := one(t, ioLimit, throttled())
	if f.Confidence != finding.Certain || f.Severity != finding.Critical || f.Share < 0.65 || f.Share > 0.75 {
		t.Errorf("%s %s share %v", f.Confidence, f.Severity, f.Share)
	}
	// A disk that is busy itself with what this server reads is found at any rate.
	one(t, ioLimit, throttled(uneven, replace("node_disk_io_time_seconds_total", 0.99),
		replace("node_disk_read_time_seconds_total", 4.9)))
	// A disk that nobody saw: possible, and said.
	if f = one(t, ioLimit, throttled(func(m *snap.Made) { m.S.Host.DatadirDev = "" })); f.Confidence !=
		finding.Likely || len(f.Unobserved) == 0 {
		t.Errorf("a disk nobody saw: %s %v", f.Confidence, f.Unobserved)
	}
}

func TestIoLimitSilent(t *testing.T) {
	silent(t, ioLimit, "nothing is seen", snap.Build())
	silent(t, ioLimit, "many reads, quick ones", throttled(replace("mysql_perf_schema_file_events_seconds_total", 0.5)))
	silent(t, ioLimit, "slow reads that take little of the time",
		throttled(func(m *snap.Made) { m.S.Classes[0].TimeSec = 400 }))
	silent(t, ioLimit, "a slow disk with room", throttled(replace("node_disk_read_time_seconds_total", 4.9)))
	silent(t, ioLimit, "a rate that nothing holds", throttled(uneven))
	silent(t, ioLimit, "a disk that others keep busy", throttled(uneven, replace("node_disk_io_time_seconds_total",
		0.99), replace("node_disk_read_time_seconds_total", 4.9),
		replace("node_disk_read_bytes_total", 5000*16384)))
	silent(t, ioLimit, "threads that wait for a CPU when the page has come", throttled(func(m *snap.Made) {
		m.Rate("dyno_server_run_queue_seconds_total", 10).Rate("dyno_server_context_switches_total", 1000)
	}))
	silent(t, ioLimit, "how long reads take was not measured",
		throttled(drop("mysql_perf_schema_file_events_seconds_total")))
}

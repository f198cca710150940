package symptoms

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	missesPerSec = 50   // pages; fewer are explained by what is read once
	readMs       = 4    // of one read; solid-state disks take less, a spinning one twice as long
	readsAtATime = 2    // from which reads stand in line
	fullLog      = 0.6  // of the age that the log allows: about there pages are written to make room in it
	usableLog    = 0.75 // of the log's bytes that the checkpoint may lag behind, where the server does not say
	waitsPerSec  = 0.2  // for the log buffer; one of the right size has none
	opensPerSec  = 10   // tables
	opensPerStmt = 0.01 // tables opened for each statement
)

// memoryLooks look at memory, the disk and the engine that writes to it.
func memoryLooks() []diagnose.Look {
	return []diagnose.Look{poolMisses, slowReads, checkpoint, logWaits, tableOpens}
}

func poolMisses(s *snapshot.Snapshot) []finding.Symptom {
	rate := s.Rate("mysql_global_status_innodb_buffer_pool_reads")
	n, ok := rate.Get()
	if !ok || n < missesPerSec {
		return nil
	}
	ev := []finding.Evidence{{
		What: "pages read on demand per second", Value: rate, Unit: "1/s", Source: source.GlobalStatus,
		Expected: fmt.Sprintf("< %d", missesPerSec),
		Text:     fmt.Sprintf("%s were requested and not in the buffer pool.", unit.Rate(n, "pages/s")),
	}}
	if r := s.Rate("dyno_server_io_read_bytes_total"); r.OK() {
		ev = append(ev, finding.Evidence{
			What: "bytes read from the disk", Value: r, Unit: "B/s", Source: source.Process,
			Text: fmt.Sprintf("The server's process read %s/s from its disk.", unit.Bytes(r.Or(0))),
		})
	}
	return []finding.Symptom{{
		ID: finding.PoolMisses.ID(), Kind: finding.PoolMisses, Subject: "buffer pool",
		Title: fmt.Sprintf("the buffer pool misses %s", unit.Rate(n, "pages/s")), Evidence: ev,
	}}
}

func slowReads(s *snapshot.Snapshot) []finding.Symptom {
	event, mode := metric.Label{Name: "event_name", Value: "wait/io/file/innodb/innodb_data_file"},
		metric.Label{Name: "mode", Value: "read"}
	sec, ok1 := s.Rate("mysql_perf_schema_file_events_seconds_total", event, mode).Get()
	n, ok2 := s.Rate("mysql_perf_schema_file_events_total", event, mode).Get()
	if !ok1 || !ok2 || n <= 0 || sec < readsAtATime || sec/n < readMs/1000.0 {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.SlowReads.ID(), Kind: finding.SlowReads, Subject: "disk",
		Title: fmt.Sprintf("a read of a data file takes %s, and %.2g are in flight", unit.Seconds(sec/n), sec),
		Evidence: []finding.Evidence{{
			What: "time of one read", Value: known.Of(1000 * sec / n), Unit: "ms", Source: source.FileIO,
			Expected: fmt.Sprintf("< %d", readMs),
			Text: fmt.Sprintf("%s of data files took %s each; %.2g were in flight.", unit.Rate(n, "reads/s"),
				unit.Seconds(sec/n), sec),
		}},
	}}
}

func checkpoint(s *snapshot.Snapshot) []finding.Symptom {
	last := func(name string) (float64, bool) {
		x, ok := s.Find("mysql_global_status_" + name)
		if !ok || len(x.Points) == 0 {
			return 0, false
		}
		return x.Points[len(x.Points)-1].Value, true
	}
	age, ok := last("innodb_checkpoint_age")
	limit, told := last("innodb_checkpoint_max_age")
	if !ok || !told {
		end, ok1 := last("innodb_redo_log_current_lsn")
		at, ok2 := last("innodb_redo_log_checkpoint_lsn")
		size, ok3 := last("innodb_redo_log_capacity_resized")
		if !ok1 || !ok2 || !ok3 {
			return nil
		}
		age, limit = end-at, usableLog*size
	}
	if limit <= 0 || age < fullLog*limit {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.Checkpoint.ID(), Kind: finding.Checkpoint, Subject: "redo log",
		Title: fmt.Sprintf("the redo log is %s full of changes to dirty pages", unit.Percent(min(1, age/limit))),
		Evidence: []finding.Evidence{{
			What: "checkpoint age", Value: known.Of(age), Unit: "B", Source: source.GlobalStatus, Expected: "< " +
				unit.Bytes(fullLog*limit),
			Text: fmt.Sprintf("The checkpoint age is %s, and the log allows %s.", unit.Bytes(age), unit.Bytes(limit)),
		}},
	}}
}

func logWaits(s *snapshot.Snapshot) []finding.Symptom {
	rate := s.Rate("mysql_global_status_innodb_log_waits")
	n, ok := rate.Get()
	if !ok || n < waitsPerSec {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.LogWaits.ID(), Kind: finding.LogWaits, Subject: "log buffer",
		Title: fmt.Sprintf("sessions wait for the log buffer %s times a minute", unit.Count(60*n)),
		Evidence: []finding.Evidence{{
			What: "waits for the log buffer per second", Value: rate, Unit: "1/s",
			Source: source.GlobalStatus, Expected: "< 0.2",
			Text: fmt.Sprintf("%s times a minute a session waited because the log buffer had no room.",
				unit.Count(60*n)),
		}},
	}}
}

func tableOpens(s *snapshot.Snapshot) []finding.Symptom {
	rate := s.Rate("mysql_global_status_opened_tables")
	n, ok := rate.Get()
	asked := s.Rate("mysql_global_status_questions").Or(0)
	if !ok || n < opensPerSec || n < opensPerStmt*asked {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.TableOpens.ID(), Kind: finding.TableOpens, Subject: "table cache",
		Title: fmt.Sprintf("%s are opened",
			unit.Rate(n, "tables/s")),
		Evidence: []finding.Evidence{{
			What: "tables opened per second", Value: rate, Unit: "1/s", Source: source.GlobalStatus,
			Expected: fmt.Sprintf("< %d", opensPerSec),
			Text:     fmt.Sprintf("%s were opened for %s.", unit.Rate(n, "tables/s"), unit.Rate(asked, "statements/s")),
		}},
	}}
}

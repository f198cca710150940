package fault

import (
	"math/rand/v2"
	"time"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

const (
	scanBytes = 1 << 20 // of one scan in the archive
	scanRows  = 4000    // rows of table-size for each scan
)

// scanned describes a table of few rows of 1 MiB each.
func scanned(n fault.Names, rows int) workload.Table {
	return workload.Table{
		Name: n.Of("scanned"), Rows: max(1, rows/scanRows),
		Create: n.SQL("CREATE TABLE {scanned} ({scanned.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {scanned.image} " +
			"LONGBLOB NOT NULL, " +
			"PRIMARY KEY ({scanned.id})) ENGINE=InnoDB"),
		Columns: n.List("scanned.id", "scanned.image"),
		Key:     n.Of("scanned.id"),
		Fill: func(uint64) func(int, func([]workload.Datum)) {
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				l.Begin()
				l.Int(row)
				l.Text("scan %d", row)
				emit(l.Row)
			}
		},
	}
}

// smallLogBuffer plants transactions of megabytes and the smallest log buffer.
func smallLogBuffer() fault.Fault {
	return fault.Fault{
		Name:  "small-log-buffer",
		Title: "transactions of megabytes go through a tiny log buffer",
		Story: "Images of 1 MB are put into an archive while small reads and writes run. The log buffer is the " +
			"smallest that the " +
			"server allows, so in the middle of such a transaction the sessions wait until the log is written. The " +
			"fix is a log buffer " +
			"that holds seconds of log.",
		Kind:    fault.Risk, // what a wait costs is up to the disk: on a quick one it drowns in the noise
		Threads: 8,
		Settings: with(sized(),
			"innodb_log_buffer_size", "256K",
			"sync_binlog", "0", // commits do not wait for the disk here
			"max_allowed_packet", "64M",
			"loose_innodb_log_file_size", "2G",
			"loose_innodb_redo_log_capacity", "2G",
		),
		Workload: fault.Mix{
			ID: "small-log-buffer", About: "images of 1 MB are written, with small reads and writes", Rows: 40_000,
			Think: 6 * time.Millisecond, // so that the log itself lasts as long as anybody looks
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{papers(n, rows), scanned(n, rows)}
			},
			Operations: []fault.Operation{
				{
					Name: "put_scan", Weight: 7,
					SQL: "UPDATE {scanned} SET {scanned.image} = REPEAT(?, ?) WHERE {scanned.id} = ?",
					Args: func(r *rand.Rand, rows int, args []workload.Datum) {
						args[0], args[1] = workload.Bytes(prose(r, 16)), workload.Int(scanBytes/16)
						args[2] = fault.ID(r, max(1, rows/scanRows))
					},
				},
				getPaper(60),
				countPages(33),
			},
		},
		Right: func(fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "small-log-buffer", Variable: "innodb_log_buffer_size"}
		},
	}
}

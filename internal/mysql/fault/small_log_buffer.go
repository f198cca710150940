package fault

import (
	"math/rand/v2"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

const (
	scanBytes = 1 << 20 // of one scan in the archive
	scanRows  = 4000    // rows of table-size for each scan
)

// scanned describes a table of few rows of 1 MiB each.
func scanned(n names, rows int) workload.Table {
	return workload.Table{
		Name: n.of("scanned"), Rows: max(1, rows/scanRows),
		Create: n.sql("CREATE TABLE {scanned} ({scanned.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {scanned.image} " +
			"LONGBLOB NOT NULL, " +
			"PRIMARY KEY ({scanned.id})) ENGINE=InnoDB"),
		Columns: n.list("scanned.id", "scanned.image"),
		Key:     n.of("scanned.id"),
		Fill: func(uint64) func(int, func([]workload.Datum)) {
			var l line
			return func(row int, emit func([]workload.Datum)) {
				l.begin()
				l.int(row)
				l.text("scan %d", row)
				emit(l.row)
			}
		},
	}
}

// smallLogBuffer plants transactions of megabytes and the smallest log buffer.
func smallLogBuffer() Fault {
	return Fault{
		Name:  "small-log-buffer",
		Title: "transactions of megabytes go through a tiny log buffer",
		Story: "Images of 1 MB are put into an archive while small reads and writes run. The log buffer is the " +
			"smallest that the " +
			"server allows, so in the middle of such a transaction the sessions wait until the log is written. The " +
			"fix is a log buffer " +
			"that holds seconds of log.",
		Kind:    Risk, // what a wait costs is up to the disk: on a quick one it drowns in the noise
		Threads: 8,
		Settings: with(sized(),
			"innodb_log_buffer_size", "256K",
			"sync_binlog", "0", // commits do not wait for the disk here
			"max_allowed_packet", "64M",
			"loose_innodb_log_file_size", "2G",
			"loose_innodb_redo_log_capacity", "2G",
		),
		Workload: mix{
			name: "small-log-buffer", title: "images of 1 MB are written, with small reads and writes", rows: 40_000,
			think: 6 * time.Millisecond, // so that the log itself lasts as long as anybody looks
			tables: func(n names, rows int) []workload.Table {
				return []workload.Table{papers(n, rows), scanned(n, rows)}
			},
			operations: []operation{
				{
					"put_scan", 7, "UPDATE {scanned} SET {scanned.image} = REPEAT(?, ?) WHERE {scanned.id} = ?",
					func(r *rand.Rand, rows int, args []workload.Datum) {
						args[0], args[1] = workload.Bytes(prose(r, 16)), workload.Int(scanBytes/16)
						args[2] = id(r, max(1, rows/scanRows))
					},
				},
				getPaper(60), countPages(33),
			},
		},
		expect: func(names) Expectation {
			return Expectation{Rule: "small-log-buffer", Variable: "innodb_log_buffer_size"}
		},
	}
}

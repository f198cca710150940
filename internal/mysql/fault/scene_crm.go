package fault

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

// The scene that the faults share: the clients of a sales office, and its visits to them.

const (
	// regions is how many different regions the clients live in: with 400 000 clients about 160 in each.
	regions = 2500
	cities  = 900
	// clientsPerVisit keeps the second table smaller than the first.
	clientsPerVisit = 4
)

func fmtInt(n int) string { return strconv.Itoa(n) }

// clients describes the large table; extra holds further definitions, templates that begin with a comma.
func clients(n names, rows int, extra string) workload.Table {
	return workload.Table{
		Name: n.of("clients"), Rows: rows,
		Create: n.sql("CREATE TABLE {clients} ({clients.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, " +
			"{clients.full_name} VARCHAR(80) NOT NULL, " +
			"{clients.email} VARCHAR(120) NOT NULL, {clients.region_code} VARCHAR(24) NOT NULL, {clients.city} " +
			"VARCHAR(60) NOT NULL, " +
			"{clients.balance} DECIMAL(12,2) NOT NULL, {clients.updated_at} DATETIME NOT NULL, PRIMARY KEY " +
			"({clients.id})" +
			extra + ") ENGINE=InnoDB"),
		Columns: n.list("clients.id", "clients.full_name", "clients.email", "clients.region_code", "clients.city",
			"clients.balance", "clients.updated_at"),
		Key: n.of("clients.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row))
				l.begin()
				l.int(row)
				l.text("Client %d %08x", row, r.Uint32())
				l.text("client%d@example.com", row)
				l.text(regionFormat, r.IntN(regions))
				l.text("City %d", r.IntN(cities))
				l.text("%d.%02d", r.IntN(100_000), r.IntN(100))
				l.time(r.IntN(365 * 24 * 3600))
				emit(l.row)
			}
		},
	}
}

// visits describes the small table, which has the index that its use needs.
func visits(n names, rows int) workload.Table {
	rows = max(1, rows/clientsPerVisit)
	return workload.Table{
		Name: n.of("visits"), Rows: rows,
		Create: n.sql("CREATE TABLE {visits} ({visits.id} BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, " +
			"{visits.client_id} INT UNSIGNED NOT NULL, " +
			"{visits.visited_at} DATETIME NOT NULL, {visits.note} VARCHAR(200) NOT NULL, PRIMARY KEY ({visits.id}), " +
			"KEY {visits.by_client} ({visits.client_id}, {visits.visited_at})) ENGINE=InnoDB"),
		Columns: n.list("visits.id", "visits.client_id", "visits.visited_at", "visits.note"),
		Key:     n.of("visits.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|1<<32)
				l.begin()
				l.int(row)
				l.int(1 + r.IntN(rows*clientsPerVisit))
				l.time(61 * row)
				l.text("visit number %d", row)
				emit(l.row)
			}
		},
	}
}

// line puts together a row whose texts share one buffer.
type line struct {
	row []workload.Datum
	buf []byte
}

func (l *line) begin() { l.row, l.buf = l.row[:0], l.buf[:0] }

func (l *line) int(n int) { l.row = append(l.row, workload.Int(int64(n))) }

func (l *line) text(format string, args ...any) {
	from := len(l.buf)
	l.buf = fmt.Appendf(l.buf, format, args...)
	l.row = append(l.row, workload.Bytes(l.buf[from:]))
}

// time adds a moment so many seconds after the beginning of 2024.
func (l *line) time(seconds int) {
	from := len(l.buf)
	l.buf = time.Date(2024, 1, 1, 0, 0, seconds, 0, time.UTC).AppendFormat(l.buf, time.DateTime)
	l.row = append(l.row, workload.Bytes(l.buf[from:]))
}

// regionFormat makes the name of a region of its number; each is as likely.
const regionFormat = "R%04d"

func region(r *rand.Rand) workload.Datum {
	return workload.Bytes(fmt.Appendf(nil, regionFormat, r.IntN(regions)))
}

// The operations of the scene. Weights are the caller's.

func findByRegion(weight int) operation {
	return operation{
		"find_by_region", weight,
		"SELECT {clients.id}, {clients.full_name}, {clients.email}, {clients.balance} FROM {clients} WHERE " +
			"{clients.region_code} = ?",
		func(r *rand.Rand, _ int, args []workload.Datum) { args[0] = region(r) },
	}
}

func getClient(weight int) operation {
	return operation{
		"get_client", weight,
		"SELECT {clients.full_name}, {clients.email}, {clients.city}, {clients.balance} FROM {clients} WHERE " +
			"{clients.id} = ?",
		func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = id(r, rows) },
	}
}

func lastVisits(weight int) operation {
	return operation{
		"last_visits", weight,
		"SELECT {visits.id}, {visits.visited_at}, {visits.note} FROM {visits} WHERE {visits.client_id} = ? ORDER BY " +
			"{visits.visited_at} DESC LIMIT 10",
		func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = id(r, rows) },
	}
}

func clientRange(weight int) operation {
	return operation{
		"list_clients", weight,
		"SELECT {clients.id}, {clients.full_name} FROM {clients} WHERE {clients.id} BETWEEN ? AND ?",
		func(r *rand.Rand, rows int, args []workload.Datum) {
			from := 1 + r.Int64N(int64(rows))
			args[0], args[1] = workload.Int(from), workload.Int(from+19)
		},
	}
}

func updateBalance(weight int) operation {
	return operation{
		"update_balance", weight,
		"UPDATE {clients} SET {clients.balance} = ?, {clients.updated_at} = NOW() WHERE {clients.id} = ?",
		func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0], args[1] = workload.Float(float64(r.IntN(1e7))/100), id(r, rows)
		},
	}
}

func addVisit(weight int) operation {
	return operation{
		"add_visit", weight,
		"INSERT INTO {visits} ({visits.client_id}, {visits.visited_at}, {visits.note}) VALUES (?, NOW(), ?)",
		func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0], args[1] = id(r, rows), workload.String("came by")
		},
	}
}

func addClient(weight int) operation {
	return operation{
		"add_client", weight,
		"INSERT INTO {clients} ({clients.full_name}, {clients.email}, {clients.region_code}, {clients.city}, " +
			"{clients.balance}, {clients.updated_at}) " +
			"VALUES (?, ?, ?, ?, 0, NOW())",
		func(r *rand.Rand, _ int, args []workload.Datum) {
			args[0], args[1] = workload.String("New client"),
				workload.String(fmt.Sprintf("new%d@example.com", r.IntN(1e9)))
			args[2], args[3] = region(r), workload.String(fmt.Sprintf("City %d", r.IntN(cities)))
		},
	}
}

func id(r *rand.Rand, rows int) workload.Datum { return workload.Int(1 + r.Int64N(int64(rows))) }

// sized are settings with which the scene fits into memory and its log.
func sized() map[string]string {
	return map[string]string{
		"innodb_buffer_pool_size":        "512M",
		"innodb_flush_log_at_trx_commit": "2",
		// MySQL writes a binary log unless told otherwise, and syncs it at every commit
		"sync_binlog":                    "0",
		"local_infile":                   "ON",   // MySQL ships with OFF, and the rows would come in by INSERT
		"loose_innodb_log_file_size":     "256M", // MariaDB, and MySQL before 8.0.30
		"loose_innodb_redo_log_capacity": "512M", // MySQL from 8.0.30
	}
}

package fault

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"dyno/internal/workload"
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
		Create: n.sql("CREATE TABLE {clients} ({clients.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {clients.full_name} VARCHAR(80) NOT NULL, " +
			"{clients.email} VARCHAR(120) NOT NULL, {clients.region_code} VARCHAR(24) NOT NULL, {clients.city} VARCHAR(60) NOT NULL, " +
			"{clients.balance} DECIMAL(12,2) NOT NULL, {clients.updated_at} DATETIME NOT NULL, PRIMARY KEY ({clients.id})" +
			extra + ") ENGINE=InnoDB"),
		Columns: n.list("clients.id", "clients.full_name", "clients.email", "clients.region_code", "clients.city", "clients.balance", "clients.updated_at"),
		Key:     n.of("clients.id"),
		Insert:  n.sql("INSERT INTO {clients} VALUES "),
		Values: func(seed uint64) func([]byte, int) []byte {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			return func(dst []byte, row int) []byte {
				pcg.Seed(seed, uint64(row))
				dst = fmt.Appendf(dst, "(%d,'Client %d %08x','client%d@example.com','", row, row, r.Uint32(), row)
				dst = appendRegion(dst, r)
				return fmt.Appendf(dst, "','City %d',%d.%02d,'2024-01-01' + INTERVAL %d SECOND)", r.IntN(cities), r.IntN(100_000), r.IntN(100), r.IntN(365*24*3600))
			}
		},
	}
}

// visits describes the small table, which has the index that its use needs.
func visits(n names, rows int) workload.Table {
	rows = max(1, rows/clientsPerVisit)
	return workload.Table{
		Name: n.of("visits"), Rows: rows,
		Create: n.sql("CREATE TABLE {visits} ({visits.id} BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, {visits.client_id} INT UNSIGNED NOT NULL, " +
			"{visits.visited_at} DATETIME NOT NULL, {visits.note} VARCHAR(200) NOT NULL, PRIMARY KEY ({visits.id}), " +
			"KEY {visits.by_client} ({visits.client_id}, {visits.visited_at})) ENGINE=InnoDB"),
		Columns: n.list("visits.id", "visits.client_id", "visits.visited_at", "visits.note"),
		Key:     n.of("visits.id"),
		Insert:  n.sql("INSERT INTO {visits} VALUES "),
		Values: func(seed uint64) func([]byte, int) []byte {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			return func(dst []byte, row int) []byte {
				pcg.Seed(seed, uint64(row)|1<<32)
				return fmt.Appendf(dst, "(%d,%d,'2024-01-01' + INTERVAL %d SECOND,'visit number %d')", row, 1+r.IntN(rows*clientsPerVisit), 61*row, row)
			}
		},
	}
}

// appendRegion appends a region, each as likely.
func appendRegion(dst []byte, r *rand.Rand) []byte { return fmt.Appendf(dst, "R%04d", r.IntN(regions)) }

// The operations of the scene. Weights are the caller's.

func findByRegion(weight int) operation {
	return operation{
		"find_by_region", weight,
		"SELECT {clients.id}, {clients.full_name}, {clients.email}, {clients.balance} FROM {clients} WHERE {clients.region_code} = ?",
		func(r *rand.Rand, _ int, args []any) { args[0] = string(appendRegion(nil, r)) },
	}
}

func getClient(weight int) operation {
	return operation{
		"get_client", weight,
		"SELECT {clients.full_name}, {clients.email}, {clients.city}, {clients.balance} FROM {clients} WHERE {clients.id} = ?",
		func(r *rand.Rand, rows int, args []any) { args[0] = id(r, rows) },
	}
}

func lastVisits(weight int) operation {
	return operation{
		"last_visits", weight,
		"SELECT {visits.id}, {visits.visited_at}, {visits.note} FROM {visits} WHERE {visits.client_id} = ? ORDER BY {visits.visited_at} DESC LIMIT 10",
		func(r *rand.Rand, rows int, args []any) { args[0] = id(r, rows) },
	}
}

func clientRange(weight int) operation {
	return operation{
		"list_clients", weight,
		"SELECT {clients.id}, {clients.full_name} FROM {clients} WHERE {clients.id} BETWEEN ? AND ?",
		func(r *rand.Rand, rows int, args []any) {
			from := id(r, rows)
			args[0], args[1] = from, from+19
		},
	}
}

func updateBalance(weight int) operation {
	return operation{
		"update_balance", weight,
		"UPDATE {clients} SET {clients.balance} = ?, {clients.updated_at} = NOW() WHERE {clients.id} = ?",
		func(r *rand.Rand, rows int, args []any) { args[0], args[1] = float64(r.IntN(1e7))/100, id(r, rows) },
	}
}

func addVisit(weight int) operation {
	return operation{
		"add_visit", weight,
		"INSERT INTO {visits} ({visits.client_id}, {visits.visited_at}, {visits.note}) VALUES (?, NOW(), ?)",
		func(r *rand.Rand, rows int, args []any) { args[0], args[1] = id(r, rows), "came by" },
	}
}

func addClient(weight int) operation {
	return operation{
		"add_client", weight,
		"INSERT INTO {clients} ({clients.full_name}, {clients.email}, {clients.region_code}, {clients.city}, {clients.balance}, {clients.updated_at}) " +
			"VALUES (?, ?, ?, ?, 0, NOW())",
		func(r *rand.Rand, _ int, args []any) {
			args[0], args[1] = "New client", fmt.Sprintf("new%d@example.com", r.IntN(1e9))
			args[2], args[3] = string(appendRegion(nil, r)), fmt.Sprintf("City %d", r.IntN(cities))
		},
	}
}

func id(r *rand.Rand, rows int) int64 { return 1 + r.Int64N(int64(rows)) }

// sized are settings with which the scene fits into memory and its log.
func sized() map[string]string {
	return map[string]string{
		"innodb_buffer_pool_size":        "512M",
		"innodb_flush_log_at_trx_commit": "2",
		"loose_innodb_log_file_size":     "256M", // MariaDB, and MySQL before 8.0.30
		"loose_innodb_redo_log_capacity": "512M", // MySQL from 8.0.30
	}
}

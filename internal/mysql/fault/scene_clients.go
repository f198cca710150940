package fault

import (
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// clients describes the large table of the scene; extra holds further definitions, templates that begin with a comma.
func clients(n fault.Names, rows int, extra string) workload.Table {
	return fault.Clients(n, rows, n.SQL("CREATE TABLE {clients} ({clients.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, "+
		"{clients.full_name} VARCHAR(80) NOT NULL, "+
		"{clients.email} VARCHAR(120) NOT NULL, {clients.region_code} VARCHAR(24) NOT NULL, {clients.city} "+
		"VARCHAR(60) NOT NULL, "+
		"{clients.balance} DECIMAL(12,2) NOT NULL, {clients.updated_at} DATETIME NOT NULL, PRIMARY KEY "+
		"({clients.id})"+
		extra+") ENGINE=InnoDB"))
}

// visits describes the small table.
func visits(n fault.Names, rows int) workload.Table {
	return fault.Visits(n, rows, n.SQL("CREATE TABLE {visits} ({visits.id} BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, "+
		"{visits.client_id} INT UNSIGNED NOT NULL, "+
		"{visits.visited_at} DATETIME NOT NULL, {visits.note} VARCHAR(200) NOT NULL, PRIMARY KEY ({visits.id}), "+
		"KEY {visits.by_client} ({visits.client_id}, {visits.visited_at})) ENGINE=InnoDB"))
}

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

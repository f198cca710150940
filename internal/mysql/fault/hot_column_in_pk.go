package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

const (
	// fleet is how many vehicles report together, fleetStep how far their numbers lie apart: fleets never lock each
	// other's rows.
	fleet     = 40
	fleetStep = 50
)

// hotColumnInPK plants a primary key that begins with a column that every update changes.
func hotColumnInPK() Fault {
	return Fault{
		Name:  "hot-column-in-pk",
		Title: "the primary key holds a column that every update changes",
		Story: "Vehicles report where they are, a fleet at a time. To sort them by the time of the last report, a " +
			"developer put that column " +
			"first in the primary key. So every report takes the row out of its page and puts it into another one, " +
			"and does the same with its " +
			"entry in each of the four other indexes, because those point at rows by their primary key. The fix is " +
			"to make the number of the " +
			"vehicle, which is unique already, the primary key, and to index the time separately.",
		Kind:     Hurts,
		Threads:  3,
		Settings: unhurried(),
		Workload: mix{
			name: "hot-column-in-pk", title: "fleets of vehicles report, and single vehicles are read", rows: 60_000,
			tables:     func(n names, rows int) []workload.Table { return []workload.Table{vehicles(n, rows)} },
			operations: []operation{reportFleet(70), getVehicle(25), countSeen(5)},
		},
		expect: func(n names) Expectation {
			return Expectation{Rule: "hot-column-in-pk", Table: schema.Ref{
				Schema: n.of(schemaKey),
				Table:  n.of("vehicles"),
			}, Columns: n.list("vehicles.id")}
		},
	}
}

func vehicles(n names, rows int) workload.Table {
	return workload.Table{
		Name: n.of("vehicles"), Rows: rows,
		Create: n.sql("CREATE TABLE {vehicles} ({vehicles.seen_at} INT UNSIGNED NOT NULL, {vehicles.id} INT UNSIGNED " +
			"NOT NULL, " +
			"{vehicles.plate} VARCHAR(16) NOT NULL, {vehicles.zone} SMALLINT UNSIGNED NOT NULL, {vehicles.driver_id} " +
			"INT UNSIGNED NOT NULL, " +
			"{vehicles.speed} SMALLINT UNSIGNED NOT NULL, {vehicles.remark} VARCHAR(160) NOT NULL, " +
			"PRIMARY KEY ({vehicles.seen_at}, {vehicles.id}), UNIQUE KEY {vehicles.by_id} ({vehicles.id}), " +
			"KEY {vehicles.by_plate} ({vehicles.plate}), KEY {vehicles.by_driver} ({vehicles.driver_id}), " +
			"KEY {vehicles.by_zone} ({vehicles.zone}, {vehicles.plate})) ENGINE=InnoDB"),
		Columns: n.list("vehicles.seen_at", "vehicles.id", "vehicles.plate", "vehicles.zone", "vehicles.driver_id",
			"vehicles.speed", "vehicles.remark"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|2<<32)
				l.begin()
				l.int(firstSeen + row)
				l.int(row)
				l.text("%c%c %06d", 'A'+r.IntN(26), 'A'+r.IntN(26), row)
				l.int(r.IntN(1000))
				l.int(1 + r.IntN(rows))
				l.int(r.IntN(130))
				l.text("runs since %08x, workshop %d, and nothing else of interest", r.Uint32(), r.IntN(1000))
				emit(l.row)
			}
		},
	}
}

const firstSeen = 1_700_000_000

func reportFleet(weight int) operation {
	return operation{
		"report_fleet", weight,
		"UPDATE {vehicles} SET {vehicles.seen_at} = ?, {vehicles.speed} = ? WHERE {vehicles.id} BETWEEN ? AND ?",
		func(r *rand.Rand, rows int, args []workload.Datum) {
			from := 1 + int64(r.IntN(max(1, rows/fleetStep)))*fleetStep
			args[0], args[1] = workload.Int(firstSeen+int64(r.IntN(100_000_000))), workload.Int(int64(r.IntN(130)))
			args[2], args[3] = workload.Int(from), workload.Int(from+fleet-1)
		},
	}
}

func getVehicle(weight int) operation {
	return operation{
		"get_vehicle", weight,
		"SELECT {vehicles.plate}, {vehicles.zone}, {vehicles.speed}, {vehicles.remark} FROM {vehicles} WHERE " +
			"{vehicles.id} = ?",
		func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = id(r, rows) },
	}
}

func countSeen(weight int) operation {
	return operation{
		"last_seen", weight,
		"SELECT {vehicles.id}, {vehicles.speed} FROM {vehicles} WHERE {vehicles.seen_at} >= ? ORDER BY " +
			"{vehicles.seen_at} LIMIT 20",
		func(r *rand.Rand, _ int, args []workload.Datum) {
			args[0] = workload.Int(firstSeen + int64(r.IntN(100_000_000)))
		},
	}
}

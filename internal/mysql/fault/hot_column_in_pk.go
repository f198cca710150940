package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
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
func hotColumnInPK() fault.Fault {
	return fault.Fault{
		Name:  "hot-column-in-pk",
		Title: "the primary key holds a column that every update changes",
		Story: "Vehicles report where they are, a fleet at a time. To sort them by the time of the last report, a " +
			"developer put that column " +
			"first in the primary key. So every report takes the row out of its page and puts it into another one, " +
			"and does the same with its " +
			"entry in each of the four other indexes, because those point at rows by their primary key. The fix is " +
			"to make the number of the " +
			"vehicle, which is unique already, the primary key, and to index the time separately.",
		Kind:     fault.Hurts,
		Threads:  3,
		Settings: unhurried(),
		Workload: fault.Mix{
			ID: "hot-column-in-pk", About: "fleets of vehicles report, and single vehicles are read", Rows: 60_000,
			Tables:     func(n fault.Names, rows int) []workload.Table { return []workload.Table{vehicles(n, rows)} },
			Operations: []fault.Operation{reportFleet(70), getVehicle(25), countSeen(5)},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "hot-column-in-pk", Table: schema.Ref{
				Schema: n.Of(fault.SchemaKey),
				Table:  n.Of("vehicles"),
			}, Columns: n.List("vehicles.id")}
		},
	}
}

func vehicles(n fault.Names, rows int) workload.Table {
	return workload.Table{
		Name: n.Of("vehicles"), Rows: rows,
		Create: n.SQL("CREATE TABLE {vehicles} ({vehicles.seen_at} INT UNSIGNED NOT NULL, {vehicles.id} INT UNSIGNED " +
			"NOT NULL, " +
			"{vehicles.plate} VARCHAR(16) NOT NULL, {vehicles.zone} SMALLINT UNSIGNED NOT NULL, {vehicles.driver_id} " +
			"INT UNSIGNED NOT NULL, " +
			"{vehicles.speed} SMALLINT UNSIGNED NOT NULL, {vehicles.remark} VARCHAR(160) NOT NULL, " +
			"PRIMARY KEY ({vehicles.seen_at}, {vehicles.id}), UNIQUE KEY {vehicles.by_id} ({vehicles.id}), " +
			"KEY {vehicles.by_plate} ({vehicles.plate}), KEY {vehicles.by_driver} ({vehicles.driver_id}), " +
			"KEY {vehicles.by_zone} ({vehicles.zone}, {vehicles.plate})) ENGINE=InnoDB"),
		Columns: n.List("vehicles.seen_at", "vehicles.id", "vehicles.plate", "vehicles.zone", "vehicles.driver_id",
			"vehicles.speed", "vehicles.remark"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|2<<32)
				l.Begin()
				l.Int(firstSeen + row)
				l.Int(row)
				l.Text("%c%c %06d", 'A'+r.IntN(26), 'A'+r.IntN(26), row)
				l.Int(r.IntN(1000))
				l.Int(1 + r.IntN(rows))
				l.Int(r.IntN(130))
				l.Text("runs since %08x, workshop %d, and nothing else of interest", r.Uint32(), r.IntN(1000))
				emit(l.Row)
			}
		},
	}
}

const firstSeen = 1_700_000_000

func reportFleet(weight int) fault.Operation {
	return fault.Operation{
		Name: "report_fleet", Weight: weight,
		SQL: "UPDATE {vehicles} SET {vehicles.seen_at} = ?, {vehicles.speed} = ? WHERE {vehicles.id} BETWEEN ? AND ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			from := 1 + int64(r.IntN(max(1, rows/fleetStep)))*fleetStep
			args[0], args[1] = workload.Int(firstSeen+int64(r.IntN(100_000_000))), workload.Int(int64(r.IntN(130)))
			args[2], args[3] = workload.Int(from), workload.Int(from+fleet-1)
		},
	}
}

func getVehicle(weight int) fault.Operation {
	return fault.Operation{
		Name: "get_vehicle", Weight: weight,
		SQL: "SELECT {vehicles.plate}, {vehicles.zone}, {vehicles.speed}, {vehicles.remark} FROM {vehicles} WHERE " +
			"{vehicles.id} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
	}
}

func countSeen(weight int) fault.Operation {
	return fault.Operation{
		Name: "last_seen", Weight: weight,
		SQL: "SELECT {vehicles.id}, {vehicles.speed} FROM {vehicles} WHERE {vehicles.seen_at} >= ? ORDER BY " +
			"{vehicles.seen_at} LIMIT 20",
		Args: func(r *rand.Rand, _ int, args []workload.Datum) {
			args[0] = workload.Int(firstSeen + int64(r.IntN(100_000_000)))
		},
	}
}

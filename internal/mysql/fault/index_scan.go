package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// indexScan plants an index that holds all that a statement wants and does not begin with what it looks for.
func indexScan() Fault {
	const stations, sensors = 20_000, 3000
	return Fault{
		Name:  "index-scan",
		Title: "a whole index is read, because it does not begin with the searched column",
		Story: "300 000 readings have an index on station and sensor. The stations of one kind of sensor are " +
			"queried: the index holds all that is " +
			"needed, but nothing can be looked up by its second column alone, so every call reads the whole index to " +
			"return some 100 entries. " +
			"No counter of table scans moves. The fix is an index that begins with the sensor.",
		Kind:     Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: mix{
			name: "index-scan", title: "readings by the second column of an index", rows: 300_000,
			tables: func(n names, rows int) []workload.Table {
				return []workload.Table{indexTable(n, "readings", rows, []string{
					"id", "station_id",
					"sensor_id", "value", "remark",
				},
					"{*id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {*station_id} INT NOT NULL, {*sensor_id} INT NOT "+
						"NULL, {*value} DOUBLE NOT NULL, "+
						"{*remark} VARCHAR(120) NOT NULL, PRIMARY KEY ({*id}), KEY {*by_station_sensor} "+
						"({*station_id}, {*sensor_id})",
					func(r *rand.Rand, row int, l *line) {
						l.int(1 + r.IntN(stations))
						l.int(1 + r.IntN(sensors))
						l.text("%d.%d", r.IntN(100), r.IntN(1000))
						l.text("taken at the usual hour under the usual sky, number %d", row)
					})}
			},
			operations: []operation{
				{
					"stations_of_sensor", 50,
					"SELECT {readings.station_id}, {readings.id} FROM {readings} WHERE {readings.sensor_id} = ?",
					func(r *rand.Rand, _ int, args []workload.Datum) { args[0] = workload.Int(1 + r.Int64N(sensors)) },
				},
				{
					"get_reading", 40,
					"SELECT {readings.value}, {readings.remark} FROM {readings} WHERE {readings.id} = ?",
					func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = id(r, rows) },
				},
				{
					"readings_of_station", 20,
					"SELECT {readings.sensor_id}, {readings.value} FROM {readings} WHERE {readings.station_id} = ?",
					func(r *rand.Rand, _ int, args []workload.Datum) { args[0] = workload.Int(1 + r.Int64N(stations)) },
				},
				{
					"add_reading", 10,
					"INSERT INTO {readings} ({readings.station_id}, {readings.sensor_id}, {readings.value}, " +
						"{readings.remark}) VALUES (?, ?, 1, '')",
					func(r *rand.Rand, _ int, args []workload.Datum) {
						args[0], args[1] = workload.Int(1+r.Int64N(stations)), workload.Int(1+r.Int64N(sensors))
					},
				},
			},
		},
		expect: func(n names) Expectation {
			return Expectation{
				Rule: "index-scan", Table: schema.Ref{Schema: n.of(schemaKey), Table: n.of("readings")},
				Columns: n.list("readings.sensor_id"),
			}
		},
	}
}

package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// indexScan plants an index that holds all that a statement wants and does not begin with what it looks for.
func indexScan() fault.Fault {
	const stations, sensors = 20_000, 3000
	return fault.Fault{
		Name:  "index-scan",
		Title: "a whole index is read, because it does not begin with the searched column",
		Story: "300 000 readings have an index on station and sensor. The stations of one kind of sensor are " +
			"queried: the index holds all that is " +
			"needed, but nothing can be looked up by its second column alone, so every call reads the whole index to " +
			"return some 100 entries. " +
			"No counter of table scans moves. The fix is an index that begins with the sensor.",
		Kind:     fault.Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: fault.Mix{
			ID: "index-scan", About: "readings by the second column of an index", Rows: 300_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{indexTable(n, "readings", rows, []string{
					"id", "station_id",
					"sensor_id", "value", "remark",
				},
					"{*id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {*station_id} INT NOT NULL, {*sensor_id} INT NOT "+
						"NULL, {*value} DOUBLE NOT NULL, "+
						"{*remark} VARCHAR(120) NOT NULL, PRIMARY KEY ({*id}), KEY {*by_station_sensor} "+
						"({*station_id}, {*sensor_id})",
					func(r *rand.Rand, row int, l *fault.Line) {
						l.Int(1 + r.IntN(stations))
						l.Int(1 + r.IntN(sensors))
						l.Text("%d.%d", r.IntN(100), r.IntN(1000))
						l.Text("taken at the usual hour under the usual sky, number %d", row)
					})}
			},
			Operations: []fault.Operation{
				{
					Name: "stations_of_sensor", Weight: 50,
					SQL: "SELECT {readings.station_id}, {readings.id} FROM {readings} WHERE {readings.sensor_id} = ?",
					Args: func(r *rand.Rand, _ int, args []workload.Datum) {
						args[0] = workload.Int(1 + r.Int64N(sensors))
					},
				},
				{
					Name: "get_reading", Weight: 40,
					SQL:  "SELECT {readings.value}, {readings.remark} FROM {readings} WHERE {readings.id} = ?",
					Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
				},
				{
					Name: "readings_of_station", Weight: 20,
					SQL: "SELECT {readings.sensor_id}, {readings.value} FROM {readings} WHERE " +
						"{readings.station_id} = ?",
					Args: func(r *rand.Rand, _ int, args []workload.Datum) {
						args[0] = workload.Int(1 + r.Int64N(stations))
					},
				},
				{
					Name: "add_reading", Weight: 10,
					SQL: "INSERT INTO {readings} ({readings.station_id}, {readings.sensor_id}, {readings.value}, " +
						"{readings.remark}) VALUES (?, ?, 1, '')",
					Args: func(r *rand.Rand, _ int, args []workload.Datum) {
						args[0], args[1] = workload.Int(1+r.Int64N(stations)), workload.Int(1+r.Int64N(sensors))
					},
				},
			},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "index-scan", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("readings")},
				Columns: n.List("readings.sensor_id"),
			}
		},
	}
}

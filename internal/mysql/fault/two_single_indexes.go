package fault

import (
	"math/rand/v2"
	"slices"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// twoSingleIndexes plants two indexes on one column each where both columns are always asked for together.
func twoSingleIndexes() fault.Fault {
	const depots, carriers = 60, 50
	return fault.Fault{
		Name:  "two-single-indexes",
		Title: "two conditions use two indexes, each of which finds far too many rows",
		Story: "300 000 parcels lie in 60 depots and go with 50 carriers; those of one depot and one carrier are " +
			"queried, some 100. Depot and carrier have " +
			"an index each: the server reads 5000 entries of one and 6000 of the other to find what is in both, or " +
			"reads 5000 rows and drops all but 100. " +
			"The fix is one index on both columns.",
		Kind:     fault.Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: fault.Mix{
			ID: "two-single-indexes", About: "parcels by depot and carrier, with an index on each", Rows: 300_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{indexTable(n, "parcels", rows,
					[]string{"id", "depot_id", "carrier_id", "weight_g", "label"},
					"{*id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {*depot_id} INT NOT NULL, {*carrier_id} INT NOT "+
						"NULL, {*weight_g} INT NOT NULL, "+
						"{*label} VARCHAR(120) NOT NULL, PRIMARY KEY ({*id}), KEY {*by_depot} ({*depot_id}), KEY "+
						"{*by_carrier} ({*carrier_id})",
					func(r *rand.Rand, row int, l *fault.Line) {
						l.Int(1 + r.IntN(depots))
						l.Int(1 + r.IntN(carriers))
						l.Int(r.IntN(30_000))
						l.Text("handle with care, this side up, parcel number %d", row)
					})}
			},
			Operations: []fault.Operation{
				{
					Name: "parcels_at", Weight: 50,
					SQL: "SELECT {parcels.id}, {parcels.weight_g}, {parcels.label} FROM {parcels} WHERE " +
						"{parcels.depot_id} = ? AND {parcels.carrier_id} = ?",
					Args: func(r *rand.Rand, _ int, args []workload.Datum) {
						args[0], args[1] = workload.Int(1+r.Int64N(depots)), workload.Int(1+r.Int64N(carriers))
					},
				},
				{
					Name: "get_parcel", Weight: 40,
					SQL:  "SELECT {parcels.weight_g}, {parcels.label} FROM {parcels} WHERE {parcels.id} = ?",
					Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
				},
				{
					Name: "add_parcel", Weight: 10,
					SQL: "INSERT INTO {parcels} ({parcels.depot_id}, {parcels.carrier_id}, {parcels.weight_g}, " +
						"{parcels.label}) VALUES (?, ?, 500, '')",
					Args: func(r *rand.Rand, _ int, args []workload.Datum) {
						args[0], args[1] = workload.Int(1+r.Int64N(depots)), workload.Int(1+r.Int64N(carriers))
					},
				},
			},
		},
		Right: func(n fault.Names) fault.Expectation {
			both := n.List("parcels.depot_id", "parcels.carrier_id")
			return fault.Expectation{
				Rule: "two-single-indexes", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("parcels")},
				// Both are equalities, so that either order is right.
				Check: func(f finding.Finding) string {
					if f.Action == nil || len(f.Action.Index.Parts) < 2 ||
						f.Action.Index.Parts[0].Column == f.Action.Index.Parts[1].Column {
						return "it adds no index on both columns"
					}
					for _, p := range f.Action.Index.Parts[:2] {
						if !slices.Contains(both, p.Column) {
							return "it indexes " + p.Column
						}
					}
					return ""
				},
			}
		},
	}
}

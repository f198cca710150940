package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// unindexedJoin plants a join whose inner table has no index on the column it is joined by.
func unindexedJoin() fault.Fault {
	const (
		perTeam = 30 // players
		perPlan = 3  // teams of a district
	)
	return fault.Fault{
		Name:  "unindexed-join",
		Title: "a join has no index on the column it joins by",
		Story: "Of 2000 teams the three of one district are found by an index, then their players by the number of " +
			"their team, which has no index: " +
			"every call reads all 60 000 players to return 90. The fix is an index on the players' team.",
		Kind:     fault.Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: fault.Mix{
			ID: "unindexed-join", About: "the players of a district's teams, without an index on the team",
			Rows: 60_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				teams := max(perPlan, rows/perTeam)
				return []workload.Table{
					indexTable(n, "teams", teams, []string{"id", "district_no", "title"},
						"{*id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {*district_no} INT NOT NULL, {*title} "+
							"VARCHAR(60) NOT NULL, PRIMARY KEY ({*id}), "+
							"KEY {*by_district} ({*district_no})",
						func(_ *rand.Rand, row int, l *fault.Line) {
							l.Int(row / perPlan)
							l.Text("Team %d", row)
						}),
					indexTable(n, "players", rows, []string{"id", "team_id", "nick", "joined_at"},
						"{*id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {*team_id} INT UNSIGNED NOT NULL, {*nick} "+
							"VARCHAR(80) NOT NULL, {*joined_at} DATETIME NOT NULL, "+
							"PRIMARY KEY ({*id})",
						func(r *rand.Rand, row int, l *fault.Line) {
							l.Int(1 + r.IntN(teams))
							l.Text("Player number %d", row)
							l.Time(r.IntN(daysOfData * daySeconds))
						}),
				}
			},
			Operations: []fault.Operation{
				{
					Name: "players_of_district", Weight: 50,
					SQL: "SELECT t.{teams.title}, p.{players.nick}, p.{players.joined_at} FROM {teams} t JOIN " +
						"{players} p " +
						"ON p.{players.team_id} = t.{teams.id} " +
						"WHERE t.{teams.district_no} = ?",
					Args: func(r *rand.Rand, rows int, args []workload.Datum) {
						args[0] = workload.Int(r.Int64N(int64(max(1, rows/perTeam/perPlan))))
					},
				},
				{
					Name: "get_player", Weight: 40,
					SQL:  "SELECT {players.nick}, {players.joined_at} FROM {players} WHERE {players.id} = ?",
					Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
				},
				{
					Name: "add_player", Weight: 10,
					SQL: "INSERT INTO {players} ({players.team_id}, {players.nick}, {players.joined_at}) VALUES (?, " +
						"'new', NOW())",
					Args: func(r *rand.Rand, rows int, args []workload.Datum) {
						args[0] = workload.Int(1 + r.Int64N(int64(max(perPlan, rows/perTeam))))
					},
				},
			},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "unindexed-join", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("players")},
				Columns: n.List("players.team_id"),
			}
		},
	}
}

package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// unindexedJoin plants a join whose inner table has no index on the column it is joined by.
func unindexedJoin() Fault {
	const (
		perTeam = 30 // players
		perPlan = 3  // teams of a district
	)
	return Fault{
		Name:  "unindexed-join",
		Title: "a join has no index on the column it joins by",
		Story: "Of 2000 teams the three of one district are found by an index, then their players by the number of " +
			"their team, which has no index: " +
			"every call reads all 60 000 players to return 90. The fix is an index on the players' team.",
		Kind:     Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: mix{
			name: "unindexed-join", title: "the players of a district's teams, without an index on the team",
			rows: 60_000,
			tables: func(n names, rows int) []workload.Table {
				teams := max(perPlan, rows/perTeam)
				return []workload.Table{
					indexTable(n, "teams", teams, []string{"id", "district_no", "title"},
						"{*id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {*district_no} INT NOT NULL, {*title} "+
							"VARCHAR(60) NOT NULL, PRIMARY KEY ({*id}), "+
							"KEY {*by_district} ({*district_no})",
						func(_ *rand.Rand, row int, l *line) {
							l.int(row / perPlan)
							l.text("Team %d", row)
						}),
					indexTable(n, "players", rows, []string{"id", "team_id", "nick", "joined_at"},
						"{*id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {*team_id} INT UNSIGNED NOT NULL, {*nick} "+
							"VARCHAR(80) NOT NULL, {*joined_at} DATETIME NOT NULL, "+
							"PRIMARY KEY ({*id})",
						func(r *rand.Rand, row int, l *line) {
							l.int(1 + r.IntN(teams))
							l.text("Player number %d", row)
							l.time(r.IntN(daysOfData * daySeconds))
						}),
				}
			},
			operations: []operation{
				{
					"players_of_district", 50,
					"SELECT t.{teams.title}, p.{players.nick}, p.{players.joined_at} FROM {teams} t JOIN {players} p " +
						"ON p.{players.team_id} = t.{teams.id} " +
						"WHERE t.{teams.district_no} = ?",
					func(r *rand.Rand, rows int, args []workload.Datum) {
						args[0] = workload.Int(r.Int64N(int64(max(1, rows/perTeam/perPlan))))
					},
				},
				{
					"get_player", 40,
					"SELECT {players.nick}, {players.joined_at} FROM {players} WHERE {players.id} = ?",
					func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = id(r, rows) },
				},
				{
					"add_player", 10,
					"INSERT INTO {players} ({players.team_id}, {players.nick}, {players.joined_at}) VALUES (?, " +
						"'new', NOW())",
					func(r *rand.Rand, rows int, args []workload.Datum) {
						args[0] = workload.Int(1 + r.Int64N(int64(max(perPlan, rows/perTeam))))
					},
				},
			},
		},
		expect: func(n names) Expectation {
			return Expectation{
				Rule: "unindexed-join", Table: schema.Ref{Schema: n.of(schemaKey), Table: n.of("players")},
				Columns: n.list("players.team_id"),
			}
		},
	}
}

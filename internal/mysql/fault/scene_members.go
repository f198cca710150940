package fault

import (
	"fmt"
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// The club: its members, and what is sent to them. There are as many letters, or bills, as table-size says.

const (
	lettersPerMember = 10
	membersPerTeam   = 20
	codeFormat       = "M-%06d"
)

func memberCount(rows int) int { return max(1, rows/lettersPerMember) }

func teamCount(rows int) int { return max(1, memberCount(rows)/membersPerTeam) }

// members describes the members of the club. Their codes are utf8mb4.
func members(n fault.Names, rows int) workload.Table {
	count := memberCount(rows)
	return workload.Table{
		Name: n.Of("members"), Rows: count,
		Create: n.SQL("CREATE TABLE {members} ({members.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, " +
			"{members.code} VARCHAR(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, {members.name} " +
			"VARCHAR(80) NOT NULL, " +
			"{members.team} INT UNSIGNED NOT NULL, PRIMARY KEY ({members.id}), KEY {members.by_code} " +
			"({members.code}), " +
			"KEY {members.by_team} ({members.team})) ENGINE=InnoDB"),
		Columns: n.List("members.id", "members.code", "members.name", "members.team"),
		Key:     n.Of("members.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				l.Begin()
				l.Int(row)
				l.Text(codeFormat, row)
				l.Text("Member %d", row)
				l.Int(row % teamCount(rows))
				emit(l.Row)
			}
		},
	}
}

// sentTo describes a table of what members got. It names them by a text, made of their number by the format; the column
// is defined by the rest of its definition.
func sentTo(n fault.Names, rows int, definition, format string) workload.Table {
	return workload.Table{
		Name: n.Of("letters"), Rows: rows,
		Create: n.SQL("CREATE TABLE {letters} ({letters.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {letters.member} " +
			definition + ", " +
			"{letters.sent_at} DATETIME NOT NULL, {letters.subject} VARCHAR(120) NOT NULL, PRIMARY KEY " +
			"({letters.id}), " +
			"KEY {letters.by_member} ({letters.member})) ENGINE=InnoDB"),
		Columns: n.List("letters.id", "letters.member", "letters.sent_at", "letters.subject"),
		Key:     n.Of("letters.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|1<<34)
				l.Begin()
				l.Int(row)
				l.Text(format, 1+r.IntN(memberCount(rows)))
				l.Time(61 * row)
				l.Text("subject number %d of many that were written", row)
				emit(l.Row)
			}
		},
	}
}

func getMember(weight int) fault.Operation {
	return fault.Operation{
		Name: "get_member", Weight: weight,
		SQL:  "SELECT {members.name}, {members.team} FROM {members} WHERE {members.id} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, memberCount(rows)) },
	}
}

func memberByCode(weight int) fault.Operation {
	return fault.Operation{
		Name: "get_member_by_code", Weight: weight,
		SQL: "SELECT {members.id}, {members.name} FROM {members} WHERE {members.code} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0] = workload.String(fmt.Sprintf(codeFormat, 1+r.IntN(memberCount(rows))))
		},
	}
}

// lettersOf finds what one member got, by a text as the format makes it.
func lettersOf(weight int, format string) fault.Operation {
	return fault.Operation{
		Name: "list_letters", Weight: weight,
		SQL: "SELECT {letters.id}, {letters.sent_at}, {letters.subject} FROM {letters} WHERE {letters.member} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0] = workload.String(fmt.Sprintf(format, 1+r.IntN(memberCount(rows))))
		},
	}
}

// lettersOfTeam joins what was sent to the members of a team, by one of their columns.
func lettersOfTeam(weight int, by string) fault.Operation {
	return fault.Operation{
		Name: "list_team_letters", Weight: weight,
		SQL: "SELECT m.{members.name}, l.{letters.sent_at}, l.{letters.subject} FROM {members} m JOIN {letters} l ON " +
			"l.{letters.member} = m.{" + by + "} WHERE m.{members.team} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0] = workload.Int(r.Int64N(int64(teamCount(rows))))
		},
	}
}

func addLetter(weight int, format string) fault.Operation {
	return fault.Operation{
		Name: "add_letter", Weight: weight,
		SQL: "INSERT INTO {letters} ({letters.member}, {letters.sent_at}, {letters.subject}) VALUES (?, NOW(), ?)",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0], args[1] = workload.String(fmt.Sprintf(format, 1+r.IntN(memberCount(rows)))),
				workload.String("one more")
		},
	}
}

package digest_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/peer"
)

// babble makes up statements. It leaves out what docs/digest.md says is otherwise in pt-query-digest.
type babble struct{ *rand.Rand }

func (r babble) of(words ...string) string { return words[r.IntN(len(words))] }

func (r babble) name() string {
	return r.of("a", "b", "tab1", "t2", "sbtest12", "col_3", "x", "xb", "_u", "name", "`q1`", "`weird name`", "db1.t1",
		"`d`.`t2`", "t.a", "c$d", "ünï", "users2020", "date", "ab12cd", "i", "e1", "f")
}

func (r babble) literal() string {
	if r.IntN(4) == 0 {
		return fmt.Sprint(r.IntN(1_000_000) - 50)
	}
	return r.of("'abc'", "'it''s'", `"dq"`, "''", "0x1af", "x'1F'", "b'01'", "1e10", "-.5", "NULL", "null", "true",
		"N'x'", "_utf8'x'", "DATE '2020-01-01'", "'a b, c (d)'",
		"'2020-01-01 10:00:00'", "@v", "?", "+5", "1.", "12.345", "'%a%'", ":p1", "'x; y'")
}

func (r babble) space() string { return r.of(" ", " ", " ", "  ", "\n", "\t", " /* c */ ", "\n  ") }

func (r babble) list(n int, one func() string) string {
	var all []string
	for range 1 + r.IntN(n) {
		all = append(all, one())
	}
	return strings.Join(all, r.of(",", ", ", " , "))
}

func (r babble) condition(depth int) string {
	switch n := r.IntN(20); {
	case n < 7 || depth > 2:
		return r.name() + r.of("=", " = ", "<>", " > ", " >= ", " LIKE ", " is not ") + r.literal()
	case n < 10:
		return r.name() + r.space() + r.of("IN", "in", "NOT IN") + r.of("", " ") + "(" + r.list(6, r.literal) + ")"
	case n < 12:
		return r.name() + " BETWEEN " + r.literal() + " AND " + r.literal()
	case n < 14:
		return r.of("f1", "count", "max", "ifnull") + "(" + r.name() + r.of(", ", ",") + r.literal() + ")" +
			r.of("+", "-", " + ", "*") + r.literal()
	case n < 16:
		return "(" + r.condition(depth+1) + " " + r.of("AND", "or") + " " + r.condition(depth+1) + ")"
	case n < 17:
		return r.name() + " in (" + r.query(depth+1) + ")"
	default:
		return r.name() + r.of("+", "-", "*", "/", " % ") + r.literal() + " < " + r.name()
	}
}

func (r babble) query(depth int) string {
	s := r.of("SELECT", "select", "Select") + r.space() + r.of("", "DISTINCT ", "SQL_NO_CACHE ", "/*! SQL_CACHE */ ") +
		r.of("*", r.name(), r.name()+", "+r.name(), "count(*)", r.literal(), r.literal()+","+r.literal(), "t.*, "+
			r.literal()+" AS z") + r.space() + "FROM" + r.space() + r.name() +
		r.of("", " AS u", ", "+r.name(), " JOIN "+r.name()+" USING (id)", " LEFT JOIN "+r.name()+
			" ON "+r.condition(depth+1))
	if r.IntN(5) > 0 {
		s += r.space() + "WHERE" + r.space() + r.condition(depth) + r.of("", " AND "+r.condition(depth),
			" or "+r.condition(depth))
	}
	s += r.of("", "", "", " GROUP BY "+r.name()) + r.of("", "", r.space()+"ORDER BY "+r.name()+r.of("", " ASC", " asc",
		" DESC", " ASC, "+r.name()+" asc"))
	s += r.of("", "", r.space()+r.of("LIMIT", "limit")+" "+r.of("5", "5,10", "5, 10", "10 OFFSET 5", "?"))
	if depth == 0 && r.IntN(5) == 0 {
		s += r.of(" UNION "+r.query(1), " union all "+r.query(1), " FOR UPDATE", " -- tail",
			" # tail", " /* tail 5 */", " ;")
	}
	return s
}

func (r babble) statement() string {
	row := func() string { return "(" + r.list(5, r.literal) + ")" }
	switch n := r.IntN(20); {
	case n < 10:
		return r.of("", "", "", "/* app */ ", " ") + r.query(0)
	case n < 13:
		return r.of("INSERT", "insert", "REPLACE", "INSERT IGNORE", "INSERT LOW_PRIORITY", "insert delayed") +
			r.space() + r.of("INTO ", "into ") + r.name() + r.of(" ", "") +
			r.of("(a,b)", "", "(`a`, `b`)") + r.of(" ", "\n", "") + r.of("VALUES", "values", "VALUE") +
			r.of(" ", "", "  ") + r.list(4, row) + r.of("", "", " ON DUPLICATE KEY UPDATE a=VALUES(a)+"+r.literal())
	case n < 14:
		return "INSERT INTO " + r.name() + " " + r.query(0)
	case n < 16:
		return r.of("UPDATE", "update") + r.space() + r.name() + " SET " + r.name() + "=" + r.literal() + ", " +
			r.name() + " = " + r.condition(0) + " WHERE " + r.condition(0)
	case n < 18:
		return r.of("DELETE FROM ", "delete from ") + r.name() + " WHERE " + r.condition(0)
	default:
		return r.of("SET @a = "+r.literal(), "SET NAMES utf8", "USE db1", "CALL p1("+r.literal()+")", "call db1.p2 ("+
			r.literal()+","+r.literal()+")", "SHOW TABLES", "SHOW FULL COLUMNS FROM "+r.name(),
			"BEGIN", "COMMIT", "START TRANSACTION", "DROP TABLE IF EXISTS "+r.name(), "CREATE TABLE "+r.name()+
				" (id int(11) default "+r.literal()+")", "ALTER TABLE "+r.name()+" ADD c2 varchar(20)",
			"LOAD DATA INFILE "+r.literal()+" INTO TABLE "+r.name(), "TRUNCATE "+r.name(), "EXPLAIN "+r.query(0),
			"PREPARE s1 FROM "+r.literal(), "EXECUTE s1 USING @a", "KILL 55", "LOCK TABLES "+r.name()+" WRITE")
	}
}

// TestRandomStatements has both programs digest thousands of statements that a generator made up, no two alike in their
// time: ids, items and figures of all classes are equal. DYNO_TEST_SEED makes up others.
func TestRandomStatements(t *testing.T) {
	needProgram(t)
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("DYNO_TEST_SEED"), "1"), 10, 64)
	if err != nil {
		t.Fatalf("DYNO_TEST_SEED: %v", err)
	}
	r := babble{rand.New(rand.NewPCG(seed, 1))}
	var b strings.Builder
	for i := range 2000 {
		b.WriteString(entry{
			at: begin.Add(time.Duration(i) * time.Second), seconds: 1e-6 * float64(i+1),
			sql: r.statement(),
		}.String())
	}
	path := write(t, "slow.log", b.String())
	sameAsPt(t, digest(t, 0, path), peer.Options{}, path)
}

package wire

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

var update = flag.Bool("update", false,
	"write what the servers send to testdata/captures, where the fuzz targets begin")

// wireConn is a connection to a real server over blocking I/O that notes what the server sends.
type wireConn struct {
	t     testing.TB
	c     net.Conn
	r     Reader
	heard []byte
	piece int // bytes to read at a time
}

func connect(t testing.TB, s *servers.Server, h Handshake) *wireConn {
	t.Helper()
	c, err := net.Dial("unix", s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	w := &wireConn{t: t, c: c, piece: 64 << 10}
	h.Local = true
	for buf := make([]byte, 4096); ; {
		n, err := c.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		w.heard = append(w.heard, buf[:n]...)
		send, done, err := h.Feed(buf[:n])
		if err != nil {
			t.Fatal(err)
		}
		if done {
			w.r.Caps = h.Caps()
			return w
		}
		if _, err := c.Write(send); err != nil {
			t.Fatal(err)
		}
	}
}

// answer sends a command and returns the rows of its answer as text, with the number of the result before each.
func (w *wireConn) answer(command []byte) (rows []string, err error) {
	w.t.Helper()
	if _, err := w.c.Write(command); err != nil {
		w.t.Fatal(err)
	}
	w.heard = w.heard[:0]
	for buf := make([]byte, w.piece); ; {
		n, err := w.c.Read(buf)
		if err != nil {
			w.t.Fatal(err)
		}
		w.heard = append(w.heard, buf[:n]...)
		w.r.Feed(buf[:n])
		for ev := Row; ev != More; {
			ev, err = w.r.Next()
			switch {
			case err != nil:
				return rows, err
			case ev == Done:
				return rows, nil
			case ev == Row:
				rows = append(rows, fmt.Sprint(w.r.Result(), ":", show(w.r.Row())))
			}
		}
		for i := range buf { // nothing may hold on to it
			buf[i] = 0xfe
		}
	}
}

// show writes values with their kinds.
func show(row []Value) string {
	var b strings.Builder
	for i, v := range row {
		if i > 0 {
			b.WriteByte('|')
		}
		switch v.Kind {
		case Null:
			b.WriteString("NULL")
		case Int:
			fmt.Fprintf(&b, "%d", int64(v.Bits))
		case Uint:
			fmt.Fprintf(&b, "u%d", v.Bits)
		case Float:
			fmt.Fprintf(&b, "f%g", v.Float())
		case Bytes:
			fmt.Fprintf(&b, "%q", v.Bytes)
		}
	}
	return b.String()
}

func (w *wireConn) query(sql string) ([]string, error) {
	w.t.Helper()
	w.r.ExpectText()
	return w.answer(AppendQuery(nil, sql))
}

func (w *wireConn) must(sql string) []string {
	w.t.Helper()
	rows, err := w.query(sql)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

func (w *wireConn) prepare(sql string) *Stmt {
	w.t.Helper()
	s := &Stmt{}
	w.r.ExpectPrepare(s)
	if _, err := w.answer(AppendPrepare(nil, sql)); err != nil {
		w.t.Fatalf("prepare %s: %v", sql, err)
	}
	return s
}

func (w *wireConn) execute(s *Stmt, args ...Value) ([]string, error) {
	w.t.Helper()
	w.r.ExpectRows(s)
	return w.answer(s.AppendExecute(nil, args))
}

// capture keeps what the server sent, after a byte for what was agreed. Its name begins with the fuzz target that reads
// it.
func (w *wireConn) capture(name string, parts ...[]byte) {
	w.t.Helper()
	if !*update {
		return
	}
	if err := os.MkdirAll(captures, 0o755); err != nil {
		w.t.Fatal(err)
	}
	for i, part := range strings.Split(w.t.Name(), "/") { // the test, the flavor, the variant
		if i == 1 || i == 2 {
			name += "-" + part
		}
	}
	if err := os.WriteFile(filepath.Join(captures, name), append([]byte{packCaps(w.r.Caps)}, bytes.Join(parts, nil)...),
		0o644); err != nil {
		w.t.Fatal(err)
	}
}

const captures = "testdata/captures"

// packCaps puts what matters to a Reader into a byte, unpackCaps takes it out.
func packCaps(c Caps) (b byte) {
	if c.Has(DeprecateEOF) {
		b |= 1
	}
	if c.Has(CacheMetadata) {
		b |= 2
	}
	return b
}

func unpackCaps(b byte) (c Caps) {
	if b&1 != 0 {
		c |= DeprecateEOF
	}
	if b&2 != 0 {
		c |= CacheMetadata
	}
	return c
}

// variants are the forms that answers take by what client and server have agreed on.
var variants = []struct {
	name    string
	without Caps
}{
	{"all", 0},
	{"eof", DeprecateEOF},
	{"columns", CacheMetadata},
	{"old", DeprecateEOF | CacheMetadata | ConnectAttrs | LenencAuth},
}

// TestRealServers asks the servers of all flavors, in all variants.
func TestRealServers(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			for _, v := range variants {
				t.Run(v.name, func(t *testing.T) {
					f := func(name string, test func(t *testing.T, s *servers.Server, without Caps)) {
						t.Run(name, func(t *testing.T) { test(t, s, v.without) })
					}
					f("types", everyTypeReadsTheSameInBothProtocols)
					f("expressions", expressionsReadTheSame)
					f("arguments", argumentsArriveAsTheyAre)
					f("changes", statementSeesItsTableChange)
					f("procedures", proceduresAnswerWithSeveralResults)
					f("no rows", answersWithoutRows)
				})
			}
		})
	}
}

// everyTypeReadsTheSameInBothProtocols also tells what each type is read as.
func everyTypeReadsTheSameInBothProtocols(t *testing.T, s *servers.Server, without Caps) {
	types := []struct{ decl, value, want string }{
		{"TINYINT", "-128", "-128"},
		{"TINYINT UNSIGNED", "255", "255"},
		{"SMALLINT", "-32768", "-32768"},
		{"SMALLINT UNSIGNED", "65535", "65535"},
		{"MEDIUMINT", "-8388608", "-8388608"},
		{"MEDIUMINT UNSIGNED", "16777215", "16777215"},
		{"INT", "-2147483648", "-2147483648"},
		{"INT UNSIGNED", "4294967295", "4294967295"},
		{"INT(8) UNSIGNED ZEROFILL", "42", "42"},
		{"BIGINT", "-9223372036854775808", "-9223372036854775808"},
		{"BIGINT", "9223372036854775807", "9223372036854775807"},
		{"BIGINT UNSIGNED", "18446744073709551615", "u18446744073709551615"},
		{"BIGINT UNSIGNED", "7", "7"},
		{"YEAR", "2024", "2024"},
		{"FLOAT", "1.25", "f1.25"},
		{"FLOAT", "0.1", "f0.10000000149011612"},
		{"DOUBLE", "-1.7976931348623157e308", "f-1.7976931348623157e+308"},
		{"DECIMAL(30,10)", "-12345678901234567890.0123456789", `"-12345678901234567890.0123456789"`},
		{"DATE", "'2024-02-29'", `"2024-02-29"`},
		{"DATE", "'0000-00-00'", `"0000-00-00"`},
		{"DATETIME", "'2024-02-29 00:00:00'", `"2024-02-29 00:00:00"`},
		{"DATETIME", "'1999-12-31 23:59:58'", `"1999-12-31 23:59:58"`},
		{"DATETIME(3)", "'2024-02-29 01:02:03.045'", `"2024-02-29 01:02:03.045"`},
		{"DATETIME(6)", "'2024-02-29 01:02:03'", `"2024-02-29 01:02:03.000000"`},
		{"DATETIME(1)", "'0000-00-00 00:00:00'", `"0000-00-00 00:00:00.0"`},
		{"TIMESTAMP(6)", "'2024-02-29 01:02:03.000007'", `"2024-02-29 01:02:03.000007"`},
		{"TIME", "'-838:59:59'", `"-838:59:59"`},
		{"TIME", "'00:00:00'", `"00:00:00"`},
		{"TIME(2)", "'123:04:05.67'", `"123:04:05.67"`},
		{"TIME(6)", "'-00:00:00.000001'", `"-00:00:00.000001"`},
		{"CHAR(10)", "'größe'", fmt.Sprintf("%q", "größe")},
		{"VARCHAR(300)", "REPEAT('x', 300)", fmt.Sprintf("%q", strings.Repeat("x", 300))},
		{"VARCHAR(300)", "''", `""`},
		{"BINARY(4)", "x'00ff'", `"\x00\xff\x00\x00"`},
		{"VARBINARY(10)", "x'fbfcfdfeff'", `"\xfb\xfc\xfd\xfe\xff"`},
		{"TINYTEXT", "'a'", `"a"`},
		{"MEDIUMTEXT", "REPEAT('y', 1000)", fmt.Sprintf("%q", strings.Repeat("y", 1000))},
		{"LONGBLOB", "x'01'", `"\x01"`},
		{"ENUM('one','two')", "'two'", `"two"`},
		{"SET('a','b','c')", "'a,c'", `"a,c"`},
		{"BIT(12)", "b'101000000001'", `"\n\x01"`},
		{"JSON", `'{"a": 1}'`, `"{\"a\": 1}"`},
		{
			"POINT", "ST_GeomFromText('POINT(1 2)')",
			`"\x00\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf0?\x00\x00\x00\x00\x00\x00\x00@"`,
		},
	}
	own := map[string][]struct{ decl, value, want string }{
		"mariadb": {
			{"UUID", "'123e4567-e89b-12d3-a456-426655440000'", `"123e4567-e89b-12d3-a456-426655440000"`},
			{"INET6", "'::1'", `"::1"`},
		},
		"mysql": {{"VECTOR(1)", "STRING_TO_VECTOR('[1]')", `"\x00\x00\x80?"`}},
	}
	w := connect(t, s, Handshake{User: "root", Without: without})
	w.must("SET sql_mode = ''")
	w.must("CREATE DATABASE IF NOT EXISTS types")
	w.must("USE types")
	w.must("DROP TABLE IF EXISTS t")
	var decls, values, nulls, want, wantNull []string
	for i, x := range append(slices.Clone(types), own[s.Flavor]...) {
		decls = append(decls, fmt.Sprintf("c%d %s NULL", i, x.decl))
		values, nulls = append(values, x.value), append(nulls, "NULL")
		want, wantNull = append(want, x.want), append(wantNull, "NULL")
	}
	w.must("CREATE TABLE t (id INT PRIMARY KEY, " + strings.Join(decls, ", ") + ")")
	w.must("INSERT INTO t VALUES (1, " + strings.Join(values, ", ") + ")")
	w.must("INSERT INTO t VALUES (2, " + strings.Join(nulls, ", ") + ")")
	expect := []string{"0:1|" + strings.Join(want, "|"), "0:2|" + strings.Join(wantNull, "|")}
	const sql = "SELECT * FROM t ORDER BY id"
	check := func(how string, got []string, err error) {
		t.Helper()
		if err != nil || !slices.Equal(got, expect) {
			t.Errorf("%s: %v\ngot  %.3000s\nwant %.3000s", how, err, strings.Join(got, "\n"),
				strings.Join(expect, "\n"))
		}
	}
	rows, err := w.query(sql)
	check("text", rows, err)
	w.capture("text-types", w.heard)
	st := w.prepare(sql)
	asked := bytes.Clone(w.heard)
	for i := range 3 {
		rows, err = w.execute(st)
		check(fmt.Sprint("binary ", i), rows, err)
	}
	w.capture("binary-types", asked, w.heard)
	for _, w.piece = range []int{1, 3, 1000} {
		rows, err = w.execute(st)
		check(fmt.Sprint("binary in pieces of ", w.piece), rows, err)
		rows, err = w.query(sql)
		check(fmt.Sprint("text in pieces of ", w.piece), rows, err)
	}
}

// expressionsReadTheSame reads what has no column behind it: its number of decimals may vary.
func expressionsReadTheSame(t *testing.T, s *servers.Server, without Caps) {
	w := connect(t, s, Handshake{User: "root", Without: without})
	f := func(expr string) {
		t.Helper()
		sql := "SELECT " + expr
		text := w.must(sql)
		st := w.prepare(sql)
		for range 2 {
			if got, err := w.execute(st); err != nil || !slices.Equal(got, text) {
				t.Errorf("%s: text %v, binary %v %v", expr, text, got, err)
			}
		}
	}
	f("NULL")
	f("1, -1, 18446744073709551615, 1.50, 1e0, 'a'")
	f("TIMESTAMP('2024-01-02 03:04:05.678'), TIMESTAMP('2024-01-02 03:04:05')")
	f("TIMEDIFF('10:00:00.5', '09:00:00'), SEC_TO_TIME(3661), SEC_TO_TIME(1.25), MAKETIME(-5, 6, 7.5)")
	f("MAX(CAST('2024-01-02' AS DATE)), MIN(CAST('2024-01-02 03:04:05' AS DATETIME(6)))")
	f("COALESCE(NULL, CAST('2024-01-02 03:04:05' AS DATETIME(4))), IF(1, CAST('01:02:03' AS TIME), CAST('01:02:03.5' " +
		"AS TIME(1)))")
	f("DATE_ADD('2024-01-02', INTERVAL 1 SECOND), STR_TO_DATE('2024-01-02', '%Y-%m-%d'), STR_TO_DATE('01:02:03.4', " +
		"'%H:%i:%s.%f')")
	f("COUNT(*), SUM(1), AVG(1), SUM(1e0), 1/3, 5 DIV 2, TRUE")
}

func argumentsArriveAsTheyAre(t *testing.T, s *servers.Server, without Caps) {
	w := connect(t, s, Handshake{User: "root", Without: without})
	w.must("CREATE DATABASE IF NOT EXISTS args")
	w.must("CREATE OR REPLACE VIEW args.v AS SELECT 1")
	w.must("DROP TABLE IF EXISTS args.t")
	w.must("CREATE TABLE args.t (id INT PRIMARY KEY, i BIGINT, u BIGINT UNSIGNED, f DOUBLE, s VARCHAR(300) CHARACTER " +
		"SET utf8mb4, b LONGBLOB)")
	ins := w.prepare("INSERT INTO args.t VALUES (?,?,?,?,?,?)")
	if ins.Params != 6 || len(ins.Columns) != 0 {
		t.Errorf("%+v", ins)
	}
	w.capture("prepare", w.heard)
	sel := w.prepare("SELECT * FROM args.t WHERE id = ?")
	id := int64(0)
	f := func(want string, args ...Value) {
		t.Helper()
		id++
		n := Value{Kind: Int, Bits: uint64(id)}
		if _, err := w.execute(ins, append([]Value{n}, args...)...); err != nil || w.r.OK().Affected != 1 {
			t.Fatalf("insert: %v, %+v", err, w.r.OK())
		}
		got, err := w.execute(sel, n)
		if want = fmt.Sprintf("0:%d|%s", id, want); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("got %.200q, want %.200q, %v", got, want, err)
		}
	}
	i := func(n int64) Value { return Value{Kind: Int, Bits: uint64(n)} }
	u := func(n uint64) Value { return Value{Kind: Uint, Bits: n} }
	fl := func(x float64) Value { return Value{Kind: Float, Bits: floatBits(x)} }
	b := func(s string) Value { return Value{Kind: Bytes, Bytes: []byte(s)} }
	f(`-1|u18446744073709551615|f1.5|"größe 😀"|"\x00\xff"`, i(-1), u(1<<64-1), fl(1.5), b("größe 😀"), b("\x00\xff"))
	f(`NULL|NULL|NULL|NULL|NULL`, Value{}, Value{}, Value{}, Value{}, Value{}) // the types stay as they were
	f(`7|8|f-2.5|""|"x"`, i(7), u(8), fl(-2.5), b(""), b("x"))
	f(`7|8|f9|"10"|"11"`, b("7"), i(8), i(9), i(10), i(11)) // the types change
	f(`7|8|f9|"10"|"11"`, u(7), b("8"), b("9"), b("10"), b("11"))
	for _, n := range []int{250, 251, 252, 300} {
		long := strings.Repeat("z", n)
		f(fmt.Sprintf("1|2|f3|%q|%q", long, long), i(1), u(2), fl(3), b(long), b(long))
	}
	for _, n := range []int{65535, 65536, 1 << 17} {
		long := strings.Repeat("z", n)
		f(fmt.Sprintf(`1|2|f3|"s"|%q`, long), i(1), u(2), fl(3), b("s"), b(long))
	}
	// After an error of the statement the types are sent again.
	if _, err := w.execute(ins, i(1), i(1), i(1), i(1), i(1), i(1)); number(err) != 1062 {
		t.Errorf("a second row of the same key: %v", err)
	}
	f(`1|2|f3|"4"|"5"`, i(1), i(2), i(3), i(4), i(5))
}

func number(err error) uint16 {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func statementSeesItsTableChange(t *testing.T, s *servers.Server, without Caps) {
	w := connect(t, s, Handshake{User: "root", Without: without})
	w.must("CREATE DATABASE IF NOT EXISTS d")
	w.must("DROP TABLE IF EXISTS d.t")
	w.must("CREATE TABLE d.t (a INT)")
	w.must("INSERT INTO d.t VALUES (7)")
	st := w.prepare("SELECT * FROM d.t")
	f := func(want string) {
		t.Helper()
		for range 3 {
			if got, err := w.execute(st); err != nil || !slices.Equal(got, []string{want}) {
				t.Errorf("%q %v, want %s", got, err, want)
			}
		}
	}
	f("0:7")
	w.must("ALTER TABLE d.t MODIFY a VARCHAR(10)")
	f(`0:"7"`)
	w.must("ALTER TABLE d.t MODIFY a BIGINT, ADD b DATE DEFAULT '2024-01-02'")
	f(`0:7|"2024-01-02"`)
	w.must("ALTER TABLE d.t DROP a")
	f(`0:"2024-01-02"`)
}

func proceduresAnswerWithSeveralResults(t *testing.T, s *servers.Server, without Caps) {
	w := connect(t, s, Handshake{User: "root", Without: without})
	w.must("CREATE DATABASE IF NOT EXISTS d")
	w.must("DROP PROCEDURE IF EXISTS d.p")
	w.must("CREATE PROCEDURE d.p(n INT) BEGIN SELECT n, 'a'; DO 1; SELECT 1.5 WHERE n < 0; SELECT NOW() < " +
		"'2000-01-01', NULL UNION ALL SELECT 5, 'x'; END")
	want := []string{`0:9|"a"`, "2:0|NULL", `2:5|"x"`}
	for range 2 {
		if got := w.must("CALL d.p(9)"); !slices.Equal(got, want) {
			t.Errorf("text: %q", got)
		}
	}
	w.capture("text-procedure", w.heard)
	st := w.prepare("CALL d.p(?)")
	asked := bytes.Clone(w.heard)
	for range 3 {
		if got, err := w.execute(st, Value{Kind: Int, Bits: 9}); err != nil || !slices.Equal(got, want) {
			t.Errorf("binary: %q %v", got, err)
		}
	}
	w.capture("binary-procedure", asked, w.heard)
	w.must("DROP PROCEDURE IF EXISTS d.q")
	w.must("CREATE PROCEDURE d.q() BEGIN SELECT 1; SELECT 2; SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1644, " +
		"MESSAGE_TEXT = 'no more'; END")
	if got, err := w.query("CALL d.q()"); number(err) != 1644 || !slices.Equal(got, []string{"0:1", "1:2"}) {
		t.Errorf("an error after two results: %q %v", got, err)
	}
	w.capture("text-results-error", w.heard)
	if got := w.must("SELECT 'alive'"); !slices.Equal(got, []string{`0:"alive"`}) {
		t.Errorf("after it: %q", got)
	}
}

func answersWithoutRows(t *testing.T, s *servers.Server, without Caps) {
	w := connect(t, s, Handshake{User: "root", Without: without})
	w.must("CREATE DATABASE IF NOT EXISTS d")
	w.must("DROP TABLE IF EXISTS d.t")
	w.must("CREATE TABLE d.t (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, n INT) AUTO_INCREMENT = 300")
	f := func(sql string, want OK) {
		t.Helper()
		if _, err := w.query(sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if got := w.r.OK(); got.Affected != want.Affected || got.InsertID != want.InsertID ||
			got.Status&(InTransaction|AutoCommit) != want.Status || got.Warnings != want.Warnings {
			t.Errorf("%s: %+v, want %+v", sql, got, want)
		}
		if !w.r.Idle() {
			t.Errorf("%s: not idle", sql)
		}
	}
	f("INSERT INTO d.t (n) VALUES (1), (2)", OK{2, 300, AutoCommit, 0})
	f("INSERT INTO d.t (id) VALUES (18446744073709551000)", OK{1, 18446744073709551000, AutoCommit, 0})
	f("UPDATE d.t SET n = 5 LIMIT 2", OK{2, 0, AutoCommit, 0})
	f("UPDATE d.t SET n = 5 LIMIT 2", OK{0, 0, AutoCommit, 0}) // changed, not found
	f("DROP TABLE IF EXISTS d.nothing", OK{0, 0, AutoCommit, 1})
	f("BEGIN", OK{0, 0, AutoCommit | InTransaction, 0})
	f("SELECT * FROM d.t WHERE id = 300", OK{0, 0, AutoCommit | InTransaction, 0})
	f("SELECT * FROM d.t WHERE id = 'x'", OK{0, 0, AutoCommit | InTransaction, 1})
	f("DELETE FROM d.t", OK{3, 0, AutoCommit | InTransaction, 0})
	f("ROLLBACK", OK{0, 0, AutoCommit, 0})
	w.capture("text-ok", w.heard)
	w.r.ExpectOK()
	if _, err := w.answer(AppendPing(nil)); err != nil {
		t.Error(err)
	}
	st := w.prepare("SELECT 1")
	if _, err := w.c.Write(AppendClose(nil, st)); err != nil { // not answered
		t.Fatal(err)
	}
	if _, err := w.execute(st); number(err) != 1243 {
		t.Errorf("a closed statement: %v", err)
	}
	if _, err := w.query("SELEKT"); number(err) != 1064 ||
		!strings.HasPrefix(err.Error(), "Error 1064 (42000): You have an error") {
		t.Errorf("no SQL: %v", err)
	}
	w.capture("text-error", w.heard)
	if _, err := w.query("SELECT EXP(a) FROM (SELECT 1 a UNION ALL SELECT 2 UNION ALL SELECT 100000) t"); number(
		err) != 1690 {
		t.Errorf("an error after rows: %v", err)
	}
	w.capture("text-late-error", w.heard)
	if _, err := w.c.Write(AppendQuit(nil)); err != nil {
		t.Fatal(err)
	}
	if n, err := w.c.Read(make([]byte, 10)); n != 0 || err == nil {
		t.Errorf("after the good-bye: %d %v", n, err)
	}
}

// TestLongPackets crosses the size at which a payload continues in another packet, both ways.
func TestLongPackets(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "max_allowed_packet=64M")
			w := connect(t, s, Handshake{User: "root"})
			st := w.prepare("SELECT LENGTH(?), CRC32(?)")
			long := bytes.Repeat([]byte("0123456789abcdef"), 1<<21+1) // 32 MiB
			f := func(n int) {
				t.Helper()
				b := long[:n]
				v := Value{Kind: Bytes, Bytes: b}
				got, err := w.execute(st, v, Value{Kind: Bytes, Bytes: []byte("x")})
				if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], fmt.Sprintf("0:%d|", n)) {
					t.Errorf("execute %d: %.100q %v", n, got, err)
				}
				const frame = len("SELECT LENGTH('')")
				got, err = w.query("SELECT LENGTH('" + string(b[:n-frame]) + "')")
				if err != nil || len(got) != 1 || got[0] != fmt.Sprint("0:", n-frame) {
					t.Errorf("query %d: %.100q %v", n, got, err)
				}
				w.r.ExpectText()
				var sum, rows int
				if _, err := w.c.Write(AppendQuery(nil, fmt.Sprintf("SELECT REPEAT('0123456789abcdef', %d), 'end' "+
					"UNION ALL SELECT 'a', 'b'", n/16))); err != nil {
					t.Fatal(err)
				}
				for buf, ev := make([]byte, 1<<20), More; ev != Done; {
					k, err := w.c.Read(buf)
					if err != nil {
						t.Fatal(err)
					}
					w.r.Feed(buf[:k])
					for ev = Row; ev == Row; {
						if ev, err = w.r.Next(); err != nil {
							t.Fatal(err)
						}
						if ev == Row {
							rows++
							sum += len(w.r.Row()[0].Bytes)
							if rows == 1 && (!bytes.Equal(w.r.Row()[0].Bytes, long[:n/16*16]) ||
								string(w.r.Row()[1].Bytes) != "end") {
								t.Errorf("rows of %d: another text", n)
							}
						}
					}
				}
				if rows != 2 || sum != n/16*16+1 {
					t.Errorf("rows of %d: %d rows, %d bytes", n, rows, sum)
				}
			}
			for _, n := range []int{maxPayload - 1, 1<<24 + 16, 2 * maxPayload} {
				f(n)
			}
		})
	}
}

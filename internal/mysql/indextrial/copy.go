package indextrial

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// copied is a table that the private server has got.
type copied struct {
	rows  int
	bytes int
	whole bool
	// columns has values of some rows, by name in lower case, as literals, see keep.
	columns map[string][]string
	kept    int    // bytes of these
	why     string // why there are no rows
}

// Bounds of the values that are kept of a table: of a column in number, and of all in bytes. They stay in memory until
// the last index was tried.
const (
	tryValues  = 2000
	tryLiteral = 500 // bytes of one
	tryKept    = 8 << 20
)

// keep keeps a value of a column, if there is room for it.
func (c *copied) keep(column, value string) {
	column = strings.ToLower(column)
	if vs := c.columns[column]; len(vs) < tryValues && len(value) < tryLiteral && c.kept < tryKept {
		x := literal(value)
		c.columns[column] = append(vs, x)
		c.kept += len(x) + 16 // of the string itself
	}
}

// copy makes a table on the private server and fills it with rows of the target.
func (w *trying) copy(ctx context.Context, ref schema.Ref) (*copied, error) {
	if c := w.copied[ref]; c != nil {
		return c, nil
	}
	c := &copied{columns: map[string][]string{}}
	w.copied[ref] = c
	if w.bytes > tryAll {
		c.why = fmt.Sprintf("%d MB of other tables were copied already, so %s was not", w.bytes>>20, ref)
		return c, nil
	}
	defer func() { w.bytes += c.bytes }()
	begin := time.Now()
	from, err := target.Limited(ctx, w.from, tryRead)
	if err != nil {
		return nil, err
	}
	defer func() { _ = target.Discard(from) }()
	tables, err := catalog.Tables(ctx, from, []schema.Ref{ref})
	if err != nil {
		return nil, w.from.Wrap("read the table "+ref.String(), err)
	}
	if len(tables) != 1 || tables[0].View {
		c.why = "there is no table " + ref.String() + " that could be copied"
		return c, nil
	}
	tab := tables[0]
	if tab.Engine != "InnoDB" { // others may lead to other servers and files
		c.why = ref.String() + " is a table of engine " + tab.Engine
		return c, nil
	}
	create, err := catalog.Definition(ctx, from, ref)
	if err != nil {
		if ctx.Err() != nil || target.KindOf(err) == endpoint.Gone {
			return nil, w.from.Wrap("read the definition of "+ref.String(), err)
		}
		c.why = "the definition of " + ref.String() + " could not be read: " + err.Error()
		return c, nil
	}
	create = withoutForeign(create)
	if why := uncopiable(create, ref.Table, w.to.Facts()); why != "" {
		c.why = ref.String() + " " + why
		return c, nil
	}
	conn, err := w.to.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	for _, q := range []string{"CREATE DATABASE IF NOT EXISTS " + ddl.Quote(ref.Schema), "USE " +
		ddl.Quote(ref.Schema), create} {
		if _, err := conn.ExecContext(ctx, sqltext.Tagged("try", "", q)); err != nil {
			c.why = fmt.Sprintf("the private server refuses the table %s: %v", ref, err)
			return c, nil
		}
	}
	var cols []string
	for _, x := range tab.Columns {
		if x.Generated == "" {
			cols = append(cols, x.Name)
		}
	}
	pick := w.pick(ctx, from, tab)
	c.whole = len(pick) == 1 && pick[0].all
	for n, p := range pick {
		got, err := w.rows(ctx, from, conn, ref, cols, p, c)
		c.rows += got
		if err != nil {
			if ctx.Err() != nil || target.KindOf(err) == endpoint.Gone {
				return nil, fmt.Errorf("copy rows of %s: %w", ref, err)
			}
			c.whole = false
			if c.rows == 0 {
				c.why = "rows of " + ref.String() + " could not be copied: " + err.Error()
				return c, nil
			}
			break // what came in time is as good as any other part
		}
		o := progress.Progress{
			Step: "copying rows of " + ref.String(), Unit: "places", Started: begin, At: time.Now(),
			Done: float64(n + 1), Total: float64(len(pick)), End: n+1 == len(pick),
		}
		w.o.Progress.Report(o)
	}
	if c.rows == 0 {
		c.why = ref.String() + " has no rows"
	}
	_, err = conn.ExecContext(ctx, sqltext.Tagged("try", "", "ANALYZE TABLE "+ddl.Name(ref)))
	return c, err
}

// outside are the words that lead out of one table of the server.
var outside = []string{"SELECT", "TABLE", "UNION", "INTO", "DIRECTORY", "CONNECTION", "TABLESPACE"}

// uncopiable says why a definition of a table is not to be executed on the private server, where that is done as root:
// it is whatever the target sent. It may be one CREATE TABLE of an InnoDB table, all of which can be read, and nothing
// in it may lead out of the server.
func uncopiable(create, table string, private target.Facts) string {
	begin := "CREATE TABLE " + ddl.Quote(table) + " (\n"
	if len(create) < len(begin) || !strings.EqualFold(create[:len(begin)], begin) {
		return "was replaced while it was read"
	}
	const unread = "has a definition that cannot be read"
	depth, ended, within := 1, false, false // of brackets; behind the columns; in Code
	engine := ""                            // the word ENGINE, or the = behind it, comes before
	sql := create[len(begin):]
	for i, end := 0, 0; i < len(sql); i = end {
		var kind mytext.Kind
		kind, end = mytext.Next(sql, i)
		token := sql[i:end]
		switch {
		case kind == mytext.Space:
			continue
		case kind == mytext.Code:
			if within || !executed.MatchString(token) {
				return "has a definition with comments"
			}
			if skips(private, token) {
				return "has a definition with parts that the private server would skip"
			}
			within = true
			end, _ = mytext.Executed(sql, i)
			continue
		case strings.HasPrefix(sql[i:], "*/"):
			if !within {
				return unread
			}
			within = false
			end = i + len("*/")
			continue
		case kind == mytext.Comment && token[0] == '/':
			return "has a definition with comments"
		case kind == mytext.Open, kind == mytext.Comment, token == ";", strings.HasPrefix(sql[i:], "--"),
			kind == mytext.Sign && (token[0] < ' ' || token[0] == 0x7f):
			return unread
		case engine == "ENGINE" && token == "=":
			engine = token
			continue
		case engine != "" && !strings.EqualFold(token, "InnoDB"):
			return "has parts of engine " + token
		case token == "(":
			depth++
		case token == ")":
			if depth--; depth == 0 && !ended && !strings.HasPrefix(sql[end:], " ENGINE=InnoDB") {
				return "was replaced while it was read" // its engine was asked for before
			}
			ended = ended || depth == 0
		}
		engine = ""
		if kind != mytext.Word && kind != mytext.Number {
			continue
		}
		// Where a number ends in a word is up to the server.
		for w := range strings.FieldsFuncSeq(strings.ToUpper(token), func(r rune) bool {
			return r != '_' && (r < 'A' || r > 'Z')
		}) {
			switch {
			case slices.Contains(outside, w):
				return "has " + w + " in its definition, which may refer outside the server"
			case w == "ENGINE":
				engine = w
			}
		}
	}
	if depth != 0 || within || engine != "" {
		return unread
	}
	return ""
}

// executed is a part of a definition with the version from which on servers read it.
var executed = lazyregexp.New(`^/\*(M?)!(\d{5,6})\s`)

// skips reports whether a server skips such a part: it would read the rest in another way.
func skips(f target.Facts, part string) bool {
	m := executed.FindStringSubmatch(part)
	n, _ := strconv.Atoi(m[2])
	if n > f.Version.Major*10000+f.Version.Minor*100+f.Version.Patch {
		return true
	}
	if f.Flavor.IsMariaDB() {
		return m[1] == "" && n >= 50700 && n < 100000
	}
	return m[1] != ""
}

// withoutForeign leaves foreign keys out of a table's definition: what they refer to is not copied.
func withoutForeign(create string) string {
	var keep []string
	for _, line := range ddl.Lines(create) {
		bare, _ := ddl.Bare(line)
		if s := strings.TrimSpace(bare); strings.HasPrefix(s, "CONSTRAINT ") && strings.Contains(s, " FOREIGN KEY ") {
			continue
		}
		keep = append(keep, line)
	}
	for i := len(keep) - 2; i >= 0; i-- { // the last definition takes no comma
		if strings.HasPrefix(keep[i+1], ")") {
			keep[i] = strings.TrimSuffix(keep[i], ",")
		}
	}
	return strings.Join(keep, "\n")
}

// span is where rows are taken from: what a SELECT has behind the table's name, and its LIMIT.
type span struct {
	where string
	limit int
	all   bool
}

// errEnough ends the copying of a table whose rows are larger than its statistics say.
var errEnough = errors.New("the rows are too large to be copied")

// pick chooses places all over the table when it is larger than what may be copied, by a primary key that is a number;
// else it takes the first rows.
func (w *trying) pick(ctx context.Context, from *sql.Conn, t schema.Table) []span {
	most := w.o.Rows
	n, ok := t.Rows.Get()
	if size, has := t.DataBytes.Get(); ok && has && n > 0 && size > 0 {
		most = min(most, max(tryChunks, int(tryBytes*float64(n)/float64(size))))
	}
	if ok && float64(n) < 0.7*float64(most) { // the number is an estimate
		return []span{{where: ddl.TableOnly, limit: most, all: true}}
	}
	pk, ok := t.PrimaryKey()
	if !ok || pk.Parts[0].Column == "" {
		return []span{{where: ddl.TableOnly, limit: most}}
	}
	key, _ := t.Column(pk.Parts[0].Column)
	if !slices.Contains([]string{"tinyint", "smallint", "mediumint", "int", "bigint"}, key.DataType) {
		return []span{{where: ddl.TableOnly, limit: most}}
	}
	var lo, hi sql.NullFloat64
	q := fmt.Sprintf("SELECT MIN(%[1]s), MAX(%[1]s) FROM %[2]s %[3]s", ddl.Quote(key.Name),
		ddl.Name(t.Ref), ddl.ByPrimaryKey)
	if err := from.QueryRowContext(ctx, sqltext.Tagged("try", "", q)).Scan(&lo, &hi); err != nil || !lo.Valid ||
		hi.Float64 <= lo.Float64 {
		return []span{{where: ddl.TableOnly, limit: most}}
	}
	r := rand.New(rand.NewPCG(2, 2))
	var out []span
	step := (hi.Float64 - lo.Float64) / tryChunks
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) } // one of 64 bits without a sign too
	for i := range tryChunks {
		at := lo.Float64 + step*(float64(i)+r.Float64()*0.5)
		out = append(out, span{
			where: fmt.Sprintf(ddl.ByPrimaryKey+" WHERE %[1]s >= %[2]s AND %[1]s < %[3]s ORDER BY %[1]s",
				ddl.Quote(key.Name), number(at), number(lo.Float64+step*float64(i+1))),
			limit: max(1, most/tryChunks),
		})
	}
	return out
}

// rows copies the rows of one place.
func (w *trying) rows(ctx context.Context, from, to *sql.Conn, ref schema.Ref, cols []string, p span,
	c *copied,
) (n int, err error) {
	var quoted []string
	for _, x := range cols {
		quoted = append(quoted, ddl.Quote(x))
	}
	list := strings.Join(quoted, ", ")
	limited, cancel := context.WithTimeout(ctx, tryRead)
	defer cancel()
	rows, err := from.QueryContext(limited, sqltext.Tagged("try", "", fmt.Sprintf("SELECT %s FROM %s %s LIMIT %d", list,
		ddl.Name(ref), p.where, p.limit)))
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	one := "(" + strings.TrimSuffix(strings.Repeat("?,", len(cols)), ",") + ")"
	batch := max(1, min(500, 30_000/max(1, len(cols))))
	var args []any
	size := 0 // of args, bytes
	flush := func() error {
		k := len(args) / len(cols)
		size = 0
		if k == 0 {
			return nil
		}
		q := "INSERT IGNORE INTO " + ddl.Name(ref) + " (" + list + ") VALUES " +
			strings.TrimSuffix(strings.Repeat(one+",", k), ",")
		_, err := to.ExecContext(ctx, sqltext.Tagged("try", "", q), args...)
		args = args[:0]
		return err
	}
	cells, into := make([]sql.NullString, len(cols)), make([]any, len(cols))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return n, err
		}
		n++
		for i, x := range cells {
			if !x.Valid {
				args = append(args, nil)
				continue
			}
			args = append(args, x.String)
			size += len(x.String)
			c.bytes += len(x.String)
			c.keep(cols[i], x.String)
		}
		if len(args) >= batch*len(cols) || size >= tryBatch {
			if err := flush(); err != nil {
				return n, err
			}
		}
		if c.bytes > 2*tryBytes {
			cancel() // what is still to come is not waited for
			return n, errEnough
		}
	}
	if err := rows.Err(); err != nil {
		return n, err
	}
	return n, flush()
}

// literal writes a value for a statement; numbers too stand well in quotes against columns of their own kind.
func literal(s string) string {
	if strings.Trim(s, "0123456789") == "" && s != "" && (s == "0" || s[0] != '0') && len(s) < 19 {
		return s
	}
	return mytext.Literal(s)
}

package capture

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
)

// Bounds of looking at rows.
const (
	sampleTime = 2 * time.Second // for all tables
	sampleRows = 120             // of a table, each found by its primary key
	// in one statement: the server opens the table once for each, with all its partitions
	samplePlaces = 10
	// a row is up to so many aside of the place: the first one behind a gap would come too often
	sampleAside   = 16
	smallTable    = 1000 // up to this many rows all are read
	sampleTables  = 20
	sampleColumns = 12
)

// wanted are the columns that conditions of the top classes are on, in lower case by table, and the tables in their
// order.
type wanted struct {
	tables  []schema.Ref
	columns map[schema.Ref]map[string]bool
}

// add adds the columns that a statement compares, sub-queries included.
func (w *wanted) add(sh shape.Shape, place func(shape.TableRef) (schema.Ref, bool)) {
	take := func(p shape.Predicate) {
		if p.Table < 0 || p.Table >= len(sh.Tables) || p.Column == "" {
			return
		}
		ref, ok := place(sh.Tables[p.Table])
		if !ok {
			return
		}
		if w.columns[ref] == nil {
			if w.columns == nil {
				w.columns = map[schema.Ref]map[string]bool{}
			}
			w.columns[ref] = map[string]bool{}
			w.tables = append(w.tables, ref)
		}
		w.columns[ref][strings.ToLower(p.Column)] = true
	}
	for _, p := range sh.Predicates {
		take(p)
	}
	for _, or := range sh.Any {
		for _, branch := range or {
			for _, p := range branch {
				take(p)
			}
		}
	}
	for _, part := range sh.Parts {
		w.add(part, place)
	}
}

// sample looks at rows of the tables for what their columns hold: how many different values, how often the most
// frequent one. Rows are found by random values of the primary key, so a table without one that is a number stays
// unknown. Checksums travel, not values. What could not be read is said in a source; an error means that the server
// went away.
func (q questioner) sample(ctx context.Context, w wanted) error {
	src := source.Source{Name: source.RowSamples, State: source.OK}
	defer func() { q.s.Sources = append(q.s.Sources, src) }()
	if len(w.tables) == 0 {
		src.Reason = "no condition of a class with much of the time is on a column of a table"
		return nil
	}
	outer, began := ctx, time.Now()
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	conn, err := target.Limited(ctx, q.t, sampleTime/2)
	if err != nil {
		return err
	}
	defer func() { _ = target.Discard(conn) }()
	for _, ref := range w.tables[:min(len(w.tables), sampleTables)] {
		i := slices.IndexFunc(q.s.Tables, func(t schema.Table) bool { return t.Ref == ref })
		if i < 0 || q.s.Tables[i].View {
			continue
		}
		err := sampleTable(ctx, conn, &q.s.Tables[i], w.columns[ref])
		switch {
		case err == nil:
			src.Reads++
			continue
		case gone(outer, err) && ctx.Err() == nil:
			return err
		case ctx.Err() != nil:
			src.State, src.Reason = source.Slow, "the time for it was up"
			return nil
		case target.KindOf(err) == endpoint.Denied:
			src.State, src.Reason = source.Denied, "rows of "+ref.String()+" may not be read"
			src.Fix = q.t.Facts().ExplainFix([]string{ref.Schema})
		default:
			src.State, src.Reason = source.Failed, ref.String()+": "+err.Error()
		}
	}
	src.Took = time.Since(began).Seconds() * 1000
	return nil
}

// sampleTable fills in the samples of some columns of a table.
func sampleTable(ctx context.Context, conn *sql.Conn, t *schema.Table, names map[string]bool) error {
	var at []int
	var list []string
	long := []string{"json", "geometry", "longblob", "mediumblob", "blob", "longtext", "mediumtext"}
	for i, c := range t.Columns {
		if names[strings.ToLower(c.Name)] && len(at) < sampleColumns &&
			!slices.Contains(long, c.DataType) {
			at = append(at, i)
			list = append(list, "CRC32("+ddl.Quote(c.Name)+")")
		}
	}
	if len(at) == 0 {
		return nil
	}
	name := ddl.Quote(t.Schema) + "." + ddl.Quote(t.Table)
	cols := strings.Join(list, ", ")
	var rows [][]string
	if n, ok := t.Rows.Get(); ok && n <= smallTable {
		var err error
		if _, rows, err = asked(ctx, conn, "rows", "SELECT "+cols+" FROM "+name+" "+ddl.TableOnly+" LIMIT "+
			strconv.Itoa(2*smallTable)); err != nil {
			return err
		}
	} else {
		key := numericKey(*t)
		if key == "" {
			return nil
		}
		key = ddl.Quote(key)
		_, ends, err := asked(ctx, conn, "rows", "SELECT MIN("+key+"), MAX("+key+") FROM "+name+" "+ddl.ByPrimaryKey)
		if err != nil || len(ends) != 1 {
			return err
		}
		lo, err1 := strconv.ParseFloat(ends[0][0], 64)
		hi, err2 := strconv.ParseFloat(ends[0][1], 64)
		if err1 != nil || err2 != nil || hi <= lo {
			return nil
		}
		parts := make([]string, sampleRows)
		for i := range parts { // one place in each of as many stretches of the key: from all over
			v := lo + (hi-lo)*(float64(i)+rand.Float64())/sampleRows
			parts[i] = "(SELECT " + cols + " FROM " + name + " " + ddl.ByPrimaryKey + " WHERE " + key + " >= " +
				strconv.FormatFloat(min(v, hi), 'f', 0, 64) + " ORDER BY " + key +
				" LIMIT " + strconv.Itoa(rand.IntN(sampleAside)) + ", 1)"
		}
		places := samplePlaces
		if t.Partitions > 0 {
			places = 1
		}
		for some := range slices.Chunk(parts, places) {
			_, more, err := asked(ctx, conn, "rows", strings.Join(some, " UNION ALL "))
			if err != nil {
				return err
			}
			rows = append(rows, more...)
		}
	}
	for i, c := range at {
		t.Columns[c].Sample = summarise(rows, i)
	}
	return nil
}

// numericKey returns the first column of the primary key when it is a whole number; "" else.
func numericKey(t schema.Table) string {
	pk, ok := t.PrimaryKey()
	if !ok || len(pk.Parts) == 0 {
		return ""
	}
	c, ok := t.Column(pk.Parts[0].Column)
	if !ok || !slices.Contains([]string{"tinyint", "smallint", "mediumint", "int", "bigint"}, c.DataType) {
		return ""
	}
	return c.Name
}

// summarise counts the values of a column of rows.
func summarise(rows [][]string, column int) *schema.ColumnSample {
	if len(rows) == 0 {
		return nil
	}
	count := map[string]int{}
	top, nulls := 0, 0
	for _, r := range rows {
		v := r[column]
		if v == "NULL" { // a checksum is digits
			nulls++
		}
		count[v]++
		top = max(top, count[v])
	}
	n := float64(len(rows))
	distinct := len(count)
	if nulls > 0 {
		distinct--
	}
	return &schema.ColumnSample{Rows: len(rows), Distinct: distinct, Top: float64(top) / n, Nulls: float64(nulls) / n}
}

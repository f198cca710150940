package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/schema"
)

// part is the part of the dictionary that a question is about: some tables of a schema.
type part struct {
	schema string
	names  []string
	bytes  bool // names are compared by bytes
}

// mostAlike bounds the tables whose names are those of a part but for the case of their letters.
const mostAlike = 1000

// about returns what tells, table by table, which ones of an answer belong to a part: once each. A server may tell of
// others too, for its collation takes a for ä.
func (p part) about() func(schema.Ref) bool {
	fold := func(s string) string { return strings.ToLower(strings.ToUpper(s)) }
	exact, alike := map[schema.Ref]bool{}, map[string]bool{}
	for _, n := range p.names {
		exact[schema.Ref{Schema: p.schema, Table: n}], alike[fold(n)] = true, true
	}
	seen, others := map[schema.Ref]bool{}, 0
	return func(r schema.Ref) bool {
		if seen[r] || !exact[r] && (others == mostAlike || !alike[fold(r.Table)] ||
			!strings.EqualFold(r.Schema, p.schema)) {
			return false
		}
		if !exact[r] {
			others++
		}
		seen[r] = true
		return true
	}
}

// ofUsers leaves the server's own schemas out.
const ofUsers = "NOT IN ('information_schema','performance_schema','mysql','sys')"

// where words the condition for the columns that hold schema and table. Dictionaries that open tables look at single
// names of both before.
func (p part) where(schemaColumn, tableColumn string) (string, []any) {
	switch {
	case len(p.names) == 1:
		return " WHERE " + schemaColumn + " = ? AND " + tableColumn + " = ?", []any{p.schema, p.names[0]}
	}
	args := make([]any, 0, len(p.names)+1)
	args = append(args, p.schema)
	for _, n := range p.names {
		args = append(args, n)
	}
	if p.bytes {
		// by the collation a is ä and A, and a server without a data dictionary opens every name that is equal to one
		// of these
		tableColumn = "BINARY " + tableColumn
	}
	return " WHERE " + schemaColumn + " = ? AND " + tableColumn + " IN (?" + strings.Repeat(",?", len(p.names)-1) + ")",
		args
}

// heads reads tables without columns and indexes. Partitions is 1 for those that have any: details counts them.
func heads(ctx context.Context, q Querier, p part) (found []schema.Table, err error) {
	where, args := p.where("TABLE_SCHEMA", "TABLE_NAME")
	about := p.about()
	err = each(ctx, q, "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_COLLATION, ROW_FORMAT, "+
		"TABLE_ROWS, DATA_LENGTH, INDEX_LENGTH, DATA_FREE,"+
		" CREATE_OPTIONS, TIMESTAMPDIFF(SECOND, CREATE_TIME, NOW()) FROM information_schema.TABLES"+
		where, args, func(r row) {
		t := schema.Table{
			Ref: schema.Ref{Schema: r.text(0), Table: r.text(1)}, View: strings.HasSuffix(r.text(2), "VIEW"),
			Engine:    r.text(3),
			Collation: r.text(4), RowFormat: r.text(5),
		}
		if !t.View {
			t.Rows, t.DataBytes, t.IndexBytes, t.FreeBytes, t.Options = number(r, 6), number(r, 7), number(r, 8),
				number(r, 9), r.text(10)
			t.AgeSec = number(r, 11)
			if strings.Contains(t.Options, "partitioned") {
				t.Partitions = 1
			}
		}
		if about(t.Ref) {
			found = append(found, t)
		}
	})
	return found, err
}

// details fills in columns, indexes, foreign keys, triggers and numbers of partitions of tables that are all in one
// part.
func details(ctx context.Context, q Querier, has map[string]bool, p part, tables []schema.Table) error {
	at := make(map[schema.Ref]*schema.Table, len(tables))
	partitioned := false
	for i := range tables {
		t := &tables[i]
		at[t.Ref] = t
		partitioned = partitioned || t.Partitions > 0
	}
	for _, read := range []func(context.Context, Querier, map[string]bool, part, map[schema.Ref]*schema.Table) error{
		columns, indexes, foreign, triggers,
	} {
		if err := read(ctx, q, has, p, at); err != nil {
			return err
		}
	}
	if !partitioned {
		return nil
	}
	where, args := p.where("TABLE_SCHEMA", "TABLE_NAME")
	return each(ctx, q, "SELECT TABLE_SCHEMA, TABLE_NAME, COUNT(*) FROM information_schema.PARTITIONS"+where+
		" AND PARTITION_NAME IS NOT NULL GROUP BY TABLE_SCHEMA, TABLE_NAME", args, func(r row) {
		if t := at[schema.Ref{Schema: r.text(0), Table: r.text(1)}]; t != nil {
			t.Partitions, _ = strconv.Atoi(r.text(2))
		}
	})
}

// mostColumns is how many columns a table can have, https://dev.mysql.com/doc/refman/8.4/en/column-count-limit.html. No
// more parts of indexes and of foreign keys, and triggers, are kept of one. Servers take 64 indexes, some builds a few
// more; a table with more than mostIndexes is put aside.
const (
	mostColumns = 4096
	mostIndexes = 256
)

// These bound an answer about some tables, which then is no longer than any answer may be: rows, those of triggers, and
// bytes of a type or an expression. A longer type is told without its values, and of a longer expression only that
// there is one.
const (
	mostRows        = 16 << 10
	mostTriggerRows = 1 << 10
	longestWord     = 1 << 10
)

// short words the question for a text, or for something else where it is longer than longestWord.
func short(column, otherwise string) string {
	return fmt.Sprintf("IF(LENGTH(%s) > %d, %s, %[1]s)", column, longestWord, otherwise)
}

func columns(ctx context.Context, q Querier, has map[string]bool, p part, at map[schema.Ref]*schema.Table) error {
	generated := "''"
	if has["COLUMNS.GENERATION_EXPRESSION"] {
		generated = short("GENERATION_EXPRESSION", "'...'")
	}
	fraction := "NULL"
	if has["COLUMNS.DATETIME_PRECISION"] { // MySQL 5.6.4
		fraction = "DATETIME_PRECISION"
	}
	type place struct {
		at     int // ordinal position
		column schema.Column
	}
	places := map[schema.Ref][]place{}
	where, args := p.where("TABLE_SCHEMA", "TABLE_NAME")
	typ := short("COLUMN_TYPE", "CONCAT(DATA_TYPE, '(...)')")
	err := some(ctx, q, mostRows, "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, "+typ+
		", DATA_TYPE, IS_NULLABLE, CHARACTER_SET_NAME, COLLATION_NAME,"+
		" CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, "+fraction+", EXTRA, ORDINAL_POSITION, "+generated+
		" FROM information_schema.COLUMNS"+where, args, func(r row) {
		ref := schema.Ref{Schema: r.text(0), Table: r.text(1)}
		if at[ref] == nil || len(places[ref]) >= mostColumns {
			return
		}
		c := schema.Column{
			Name: r.text(2), Type: r.text(3), DataType: strings.ToLower(r.text(4)),
			Nullable: r.text(5) == "YES", Charset: r.text(6),
			Collation: r.text(7), Extra: r.text(12), Generated: unescape(has, r.text(14)),
		}
		n := func(i int) int { v, _ := strconv.Atoi(r.text(i)); return v }
		c.Bytes = size(c.DataType, n(8), n(9), n(10), n(11))
		places[ref] = append(places[ref], place{n(13), c})
	})
	for ref, list := range places { // sorting is done here: it is the server's time that counts
		slices.SortStableFunc(list, func(a, b place) int { return cmp.Compare(a.at, b.at) })
		t := at[ref]
		for _, x := range list {
			t.Columns = append(t.Columns, x.column)
		}
	}
	return err
}

func indexes(ctx context.Context, q Querier, has map[string]bool, p part, at map[schema.Ref]*schema.Table) error {
	expr, hidden := "NULL", "''"
	if has["STATISTICS.EXPRESSION"] {
		expr = short("EXPRESSION", "''")
	}
	switch {
	case has["STATISTICS.IS_VISIBLE"]: // MySQL 8.0
		hidden = "CASE IS_VISIBLE WHEN 'NO' THEN 'YES' ELSE '' END"
	case has["STATISTICS.IGNORED"]: // MariaDB 10.6
		hidden = "IGNORED"
	}
	type place struct {
		index string
		seq   int
	}
	where, args := p.where("TABLE_SCHEMA", "TABLE_NAME")
	type named struct {
		ref   schema.Ref
		index string
	}
	seen := map[named]bool{}
	places := map[schema.Ref]map[place]schema.IndexPart{}
	many := false
	err := some(ctx, q, mostRows, "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, INDEX_TYPE, COLUMN_NAME,"+
		" SUB_PART, COLLATION, CARDINALITY, SEQ_IN_INDEX, "+
		expr+", "+hidden+" FROM information_schema.STATISTICS"+where, args, func(r row) {
		ref := schema.Ref{Schema: r.text(0), Table: r.text(1)}
		t := at[ref]
		if t == nil || len(places[ref]) >= mostColumns {
			return
		}
		if n := (named{ref, r.text(2)}); !seen[n] {
			many = many || len(t.Indexes) == mostIndexes
			seen[n] = true
			t.Indexes = append(t.Indexes, schema.Index{
				Name: r.text(2), Unique: r.text(3) == "0", Type: r.text(4),
				Hidden: r.text(11) == "YES",
			})
		}
		c := schema.IndexPart{
			Column: r.text(5), Desc: r.text(7) == "D", Cardinality: number(r, 8),
			Expr: unescape(has, r.text(10)),
		}
		c.Prefix, _ = strconv.Atoi(r.text(6))
		if c.Expr != "" {
			c.Column = ""
		}
		many = many || c.Expr == "" && c.Column == "" // an expression that is too long
		if places[ref] == nil {
			places[ref] = map[place]schema.IndexPart{}
		}
		seq, _ := strconv.Atoi(r.text(9))
		places[ref][place{r.text(2), seq}] = c
	})
	for ref, parts := range places {
		t := at[ref]
		for i := range t.Indexes {
			for seq := 1; ; seq++ {
				c, ok := parts[place{t.Indexes[i].Name, seq}]
				if !ok {
					break
				}
				t.Indexes[i].Parts = append(t.Indexes[i].Parts, c)
			}
		}
		// The order of the dictionary's collation differs between servers, and the primary key comes first for people.
		slices.SortFunc(t.Indexes, func(a, b schema.Index) int {
			if a.Primary() != b.Primary() {
				if a.Primary() {
					return -1
				}
				return 1
			}
			return cmp.Compare(a.Name, b.Name)
		})
	}
	if err == nil && many {
		return errLong
	}
	return err
}

func foreign(ctx context.Context, q Querier, _ map[string]bool, p part, at map[schema.Ref]*schema.Table) error {
	where, args := p.where("TABLE_SCHEMA", "TABLE_NAME")
	type col struct {
		ref  schema.Ref
		name string
		seq  int
		to   schema.Ref
		a, b string
	}
	var cols []col
	n := map[schema.Ref]int{}
	err := some(ctx, q, mostRows, "SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION, COLUMN_NAME,"+
		" REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME"+
		" FROM information_schema.KEY_COLUMN_USAGE"+where+" AND REFERENCED_TABLE_NAME IS NOT NULL", args, func(r row) {
		seq, _ := strconv.Atoi(r.text(3))
		ref := schema.Ref{Schema: r.text(0), Table: r.text(1)}
		if at[ref] == nil || n[ref] >= mostColumns {
			return
		}
		n[ref]++
		cols = append(cols, col{
			ref: ref, name: r.text(2), seq: seq, a: r.text(4),
			to: schema.Ref{Schema: r.text(5), Table: r.text(6)}, b: r.text(7),
		})
	})
	slices.SortStableFunc(cols, func(a, b col) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.seq, b.seq))
	})
	for _, c := range cols {
		t := at[c.ref]
		if t == nil {
			continue
		}
		if n := len(t.Foreign); n == 0 || t.Foreign[n-1].Name != c.name {
			t.Foreign = append(t.Foreign, schema.ForeignKey{Name: c.name, To: c.to})
		}
		k := &t.Foreign[len(t.Foreign)-1]
		k.Columns, k.Refers = append(k.Columns, c.a), append(k.Refers, c.b)
	}
	return err
}

// longestBody bounds the text of a trigger that is kept, bytes.
const longestBody = 8 << 10

func triggers(ctx context.Context, q Querier, _ map[string]bool, p part, at map[schema.Ref]*schema.Table) error {
	where, args := p.where("EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE")
	err := some(ctx, q, mostTriggerRows, "SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, TRIGGER_NAME, ACTION_TIMING,"+
		" EVENT_MANIPULATION, LEFT(ACTION_STATEMENT, "+strconv.Itoa(longestBody+1)+")"+
		" FROM information_schema.TRIGGERS"+where, args, func(r row) {
		if t := at[schema.Ref{Schema: r.text(0), Table: r.text(1)}]; t != nil && len(t.Triggers) < mostColumns {
			t.Triggers = append(t.Triggers, schema.Trigger{
				Name: r.text(2), Timing: r.text(3), Event: r.text(4),
				Body: cut(r.text(5), longestBody),
			})
		}
	})
	for _, t := range at {
		slices.SortFunc(t.Triggers, func(a, b schema.Trigger) int { return cmp.Compare(a.Name, b.Name) })
	}
	return err
}

// cut shortens a text to about n bytes, at a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + " …"
}

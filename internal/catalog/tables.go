package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dyno/internal/known"
	"dyno/internal/schema"
)

// Tables returns the named tables with columns, indexes and statistics, in the order of refs and each once. A table that does not
// exist, or that the account may not see, is left out.
//
// It asks for one table at a time, because information_schema of MariaDB and of MySQL before 8.0 opens every table of the server
// for any other form of question.
func Tables(ctx context.Context, q Querier, refs []schema.Ref) ([]schema.Table, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	has, err := columnsOf(ctx, q, "TABLES", "COLUMNS", "STATISTICS")
	if err != nil {
		return nil, fmt.Errorf("read tables: %w", err)
	}
	var out []schema.Table
	for _, ref := range refs {
		if slices.ContainsFunc(out, func(t schema.Table) bool { return t.Ref == ref }) {
			continue
		}
		t, ok, err := table(ctx, q, has, ref)
		if err != nil {
			return nil, fmt.Errorf("read table %s: %w", ref, err)
		}
		if ok && !slices.ContainsFunc(out, func(o schema.Table) bool { return o.Ref == t.Ref }) {
			out = append(out, t)
		}
	}
	return out, nil
}

// columnsOf tells which columns tables of information_schema have, as "TABLE.COLUMN".
func columnsOf(ctx context.Context, q Querier, tables ...string) (map[string]bool, error) {
	has := map[string]bool{}
	for _, t := range tables {
		err := each(ctx, q, "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'information_schema' AND TABLE_NAME = ?",
			[]any{t}, func(r row) { has[t+"."+strings.ToUpper(r.text(0))] = true })
		if err != nil {
			return nil, err
		}
	}
	return has, nil
}

const this = " WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?"

func table(ctx context.Context, q Querier, has map[string]bool, ref schema.Ref) (schema.Table, bool, error) {
	var found []schema.Table
	partitioned := false
	err := each(ctx, q, "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_COLLATION, ROW_FORMAT, TABLE_ROWS, DATA_LENGTH, INDEX_LENGTH, CREATE_OPTIONS"+
		" FROM information_schema.TABLES"+this, []any{ref.Schema, ref.Table}, func(r row) {
		t := schema.Table{
			Ref: schema.Ref{Schema: r.text(0), Table: r.text(1)}, View: strings.HasSuffix(r.text(2), "VIEW"), Engine: r.text(3),
			Collation: r.text(4), RowFormat: r.text(5),
		}
		if !t.View {
			t.Rows, t.DataBytes, t.IndexBytes = number(r, 6), number(r, 7), number(r, 8)
		}
		partitioned = partitioned || strings.Contains(r.text(9), "partitioned")
		found = append(found, t)
	})
	if err != nil {
		return schema.Table{}, false, err
	}
	t, ok := pick(found, ref)
	if !ok {
		return t, false, nil
	}
	where := []any{t.Schema, t.Table}
	if partitioned {
		err := each(ctx, q, "SELECT COUNT(*) FROM information_schema.PARTITIONS"+this+" AND PARTITION_NAME IS NOT NULL", where,
			func(r row) { t.Partitions, _ = strconv.Atoi(r.text(0)) })
		if err != nil {
			return t, false, err
		}
	}
	if t.Columns, err = columns(ctx, q, has, where); err != nil {
		return t, false, err
	}
	if t.Indexes, err = indexes(ctx, q, has, where); err != nil {
		return t, false, err
	}
	return t, true, nil
}

// pick chooses the table of exactly that name, or the only one that differs in case alone: the dictionary compares names by
// a collation that may take a for ä.
func pick(found []schema.Table, ref schema.Ref) (schema.Table, bool) {
	var near []schema.Table
	for _, t := range found {
		if t.Ref == ref {
			return t, true
		}
		if strings.EqualFold(t.Schema, ref.Schema) && strings.EqualFold(t.Table, ref.Table) {
			near = append(near, t)
		}
	}
	if len(near) == 1 {
		return near[0], true
	}
	return schema.Table{}, false
}

func columns(ctx context.Context, q Querier, has map[string]bool, where []any) ([]schema.Column, error) {
	generated := "''"
	if has["COLUMNS.GENERATION_EXPRESSION"] {
		generated = "GENERATION_EXPRESSION"
	}
	var out []schema.Column
	err := each(ctx, q, "SELECT COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, IS_NULLABLE, CHARACTER_SET_NAME, COLLATION_NAME, CHARACTER_OCTET_LENGTH,"+
		" NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, EXTRA, "+generated+
		" FROM information_schema.COLUMNS"+this+" ORDER BY ORDINAL_POSITION", where, func(r row) {
		c := schema.Column{
			Name: r.text(0), Type: r.text(1), DataType: strings.ToLower(r.text(2)), Nullable: r.text(3) == "YES", Charset: r.text(4),
			Collation: r.text(5), Extra: r.text(10), Generated: unescape(has, r.text(11)),
		}
		n := func(i int) int { v, _ := strconv.Atoi(r.text(i)); return v }
		c.Bytes = size(c.DataType, n(6), n(7), n(8), n(9))
		out = append(out, c)
	})
	return out, err
}

func indexes(ctx context.Context, q Querier, has map[string]bool, where []any) ([]schema.Index, error) {
	expr, hidden := "NULL", "''"
	if has["STATISTICS.EXPRESSION"] {
		expr = "EXPRESSION"
	}
	switch {
	case has["STATISTICS.IS_VISIBLE"]: // MySQL 8.0
		hidden = "CASE IS_VISIBLE WHEN 'NO' THEN 'YES' ELSE '' END"
	case has["STATISTICS.IGNORED"]: // MariaDB 10.6
		hidden = "IGNORED"
	}
	var out []schema.Index
	err := each(ctx, q, "SELECT INDEX_NAME, NON_UNIQUE, INDEX_TYPE, COLUMN_NAME, SUB_PART, COLLATION, CARDINALITY, "+expr+", "+hidden+
		" FROM information_schema.STATISTICS"+this+" ORDER BY INDEX_NAME, SEQ_IN_INDEX", where, func(r row) {
		if n := len(out); n == 0 || out[n-1].Name != r.text(0) {
			out = append(out, schema.Index{Name: r.text(0), Unique: r.text(1) == "0", Type: r.text(2), Hidden: r.text(8) == "YES"})
		}
		p := schema.IndexPart{Column: r.text(3), Desc: r.text(5) == "D", Cardinality: number(r, 6), Expr: unescape(has, r.text(7))}
		p.Prefix, _ = strconv.Atoi(r.text(4))
		if p.Expr != "" {
			p.Column = ""
		}
		x := &out[len(out)-1]
		x.Parts = append(x.Parts, p)
	})
	// The order of the dictionary's collation differs between servers, and the primary key comes first for people.
	slices.SortFunc(out, func(a, b schema.Index) int {
		if a.Primary() != b.Primary() {
			if a.Primary() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return out, err
}

func number(r row, i int) known.Value[uint64] {
	if r.null(i) {
		return known.None[uint64]()
	}
	n, err := strconv.ParseUint(r.text(i), 10, 64)
	if err != nil {
		return known.None[uint64]()
	}
	return known.Of(n)
}

// unescape takes back the backslashes that MySQL 8 puts before quotes and backslashes of an expression. MariaDB puts none.
func unescape(has map[string]bool, expr string) string {
	if !has["STATISTICS.EXPRESSION"] || !strings.Contains(expr, `\`) {
		return expr
	}
	var b strings.Builder
	for i := 0; i < len(expr); i++ {
		if expr[i] == '\\' && i+1 < len(expr) {
			i++
		}
		b.WriteByte(expr[i])
	}
	return b.String()
}

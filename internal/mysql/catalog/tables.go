package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
)

// mostOfNamed bounds the descriptions that Tables returns, bytes as schema.Table.Memory counts them.
const mostOfNamed = 16 << 20

// Tables returns the named tables with columns, indexes and statistics, in the order of refs and each once. A table
// that does not exist, or that the account may not see, is left out. With an error come those that could be read.
//
// It asks for one table at a time, because information_schema of MariaDB and of MySQL before 8.0 opens every table of
// the server for any other form of question.
func Tables(ctx context.Context, q Querier, refs []schema.Ref) ([]schema.Table, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	has, err := columnsOf(ctx, q, "TABLES", "COLUMNS", "STATISTICS")
	if err != nil {
		return nil, fmt.Errorf("read tables: %w", err)
	}
	var out []schema.Table
	var busy error
	room := mostOfNamed
	for _, ref := range refs {
		if slices.ContainsFunc(out, func(t schema.Table) bool { return t.Ref == ref }) {
			continue
		}
		t, ok, err := table(ctx, q, has, ref)
		if err != nil {
			err = fmt.Errorf("read table %s: %w", ref, err)
		}
		if size := t.Memory(); err == nil && size > min(room, mostOfTable) {
			err = fmt.Errorf("read table %s: %w", ref, errLong)
		} else {
			room -= size
		}
		switch {
		case errors.Is(err, errBusy), errors.Is(err, errLong): // it is there, and the others are read
			busy = cmp.Or(busy, err)
			continue
		case err != nil:
			return out, err
		}
		if ok && !slices.ContainsFunc(out, func(o schema.Table) bool { return o.Ref == t.Ref }) {
			out = append(out, t)
		}
	}
	return out, busy
}

// columnsOf tells which columns tables of information_schema have, as "TABLE.COLUMN".
func columnsOf(ctx context.Context, q Querier, tables ...string) (map[string]bool, error) {
	has := map[string]bool{}
	for _, t := range tables {
		err := each(ctx, q, "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = "+
			"'information_schema' AND TABLE_NAME = ?",
			[]any{t}, func(r row) {
				if len(has) < mostColumns && len(r.text(0)) <= longestName {
					has[t+"."+strings.ToUpper(r.text(0))] = true
				}
			})
		if err != nil {
			return nil, err
		}
	}
	return has, nil
}

func table(ctx context.Context, q Querier, has map[string]bool, ref schema.Ref) (schema.Table, bool, error) {
	one, err := describe(ctx, q, has, part{schema: ref.Schema, names: []string{ref.Table}},
		func(found []schema.Table) []schema.Table {
			if t, ok := pick(found, ref); ok {
				return []schema.Table{t}
			}
			return nil
		})
	if err != nil || len(one) == 0 {
		return schema.Table{}, false, err
	}
	return one[0], true, nil
}

// pick chooses the table of exactly that name, or the only one that differs in case alone: the dictionary compares
// names by a collation that may take a for ä.
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

// unescape takes back the backslashes that MySQL 8 puts before quotes and backslashes of an expression. MariaDB puts
// none.
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

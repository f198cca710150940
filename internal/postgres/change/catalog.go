package change

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/schema"
)

// table is what a change of an index has to know of its table.
type table struct {
	oid    uint32
	kind   string // pg_class.relkind
	temp   bool
	owner  string
	mine   bool    // the account has the rights of the owner
	create bool    // it may create something in the schema
	rows   float64 // estimated; below 0 before the first ANALYZE
	bytes  float64
}

const askTable = `SELECT c.oid, c.relkind::text, c.relpersistence = 't', pg_get_userbyid(c.relowner)::text,
 pg_has_role(c.relowner, 'USAGE'), has_schema_privilege(n.oid, 'CREATE'), c.reltuples::float8,
 pg_table_size(c.oid)::float8
 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`

func (s session) table(ctx context.Context, ref schema.Ref) (t table, found bool, err error) {
	found, err = s.ask(ctx, "look for table "+ref.String(), askTable, []any{ref.Schema, ref.Table}, &t.oid, &t.kind,
		&t.temp, &t.owner, &t.mine, &t.create, &t.rows, &t.bytes)
	return t, found, err
}

// index is one index as the server shows it.
type index struct {
	schema.Index
	oid        uint32
	table      uint32 // whose it is
	valid      bool
	plain      bool   // its parts say all: a B-tree with the usual order of its parts, over all rows
	def        string // pg_get_indexdef
	constraint bool   // a constraint, of this table or another, rests on it
	identity   bool   // it is the table's replica identity
	clustered  bool
	partition  bool // it is one of a partitioned table, or a part of such a one
	elsewhere  bool // in a tablespace of its own
	comment    bool
	bytes      float64
	scans      int64
}

// pg_get_indexdef names what search_path does not find with its schema, so the definition is complete in Dyno's
// sessions. https://www.postgresql.org/docs/current/catalog-pg-index.html
const askIndexes = `SELECT c.relname::text, i.indisunique, upper(m.amname::text), c.oid, i.indrelid, i.indisvalid,
 m.amname = 'btree' AND i.indpred IS NULL AND i.indnatts = i.indnkeyatts AND
  NOT EXISTS (SELECT FROM unnest(i.indoption) o WHERE o NOT IN (0, 3)) AND
  NOT EXISTS (SELECT FROM unnest(i.indclass) k JOIN pg_opclass p ON p.oid = k WHERE NOT p.opcdefault) AND
  NOT EXISTS (SELECT FROM generate_series(0, i.indnkeyatts - 1) k JOIN pg_attribute a ON a.attrelid = i.indrelid
   AND a.attnum = i.indkey[k] WHERE a.attcollation <> i.indcollation[k]),
 pg_get_indexdef(c.oid), EXISTS (SELECT FROM pg_constraint WHERE conindid = c.oid), i.indisreplident,
 i.indisclustered, c.relkind = 'I' OR c.relispartition, c.reltablespace <> 0,
 obj_description(c.oid, 'pg_class') IS NOT NULL, pg_relation_size(c.oid)::float8, coalesce(u.idx_scan, 0),
 (SELECT array_agg(coalesce(a.attname::text, '') ORDER BY k) FROM generate_series(0, i.indnkeyatts - 1) k
  LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k]),
 (SELECT array_agg(CASE i.indkey[k] WHEN 0 THEN pg_get_indexdef(c.oid, k + 1, true) ELSE '' END ORDER BY k)
  FROM generate_series(0, i.indnkeyatts - 1) k),
 (SELECT array_agg(i.indoption[k] & 1 = 1 ORDER BY k) FROM generate_series(0, i.indnkeyatts - 1) k)
 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
 LEFT JOIN pg_stat_all_indexes u ON u.indexrelid = c.oid WHERE i.indrelid = $1 ORDER BY 1`

func (s session) indexes(ctx context.Context, of uint32) (all []index, err error) {
	err = s.each(ctx, "read the indexes", askIndexes, []any{of}, func(r pgx.Rows) error {
		var x index
		var names, exprs []string
		var desc []bool
		if err := r.Scan(&x.Name, &x.Unique, &x.Type, &x.oid, &x.table, &x.valid, &x.plain, &x.def, &x.constraint,
			&x.identity, &x.clustered, &x.partition, &x.elsewhere, &x.comment, &x.bytes, &x.scans, &names,
			&exprs, &desc); err != nil {
			return err
		}
		for i, n := range names {
			x.Parts = append(x.Parts, schema.IndexPart{Column: n, Expr: exprs[i], Desc: desc[i]})
		}
		all = append(all, x)
		return nil
	})
	return all, err
}

// index returns the index that an action names, of the table that it names.
func (s session) index(ctx context.Context, a finding.Action) (x index, found bool, err error) {
	t, found, err := s.table(ctx, a.Table)
	if err != nil || !found {
		return x, false, err
	}
	all, err := s.indexes(ctx, t.oid)
	for _, x := range all {
		if x.Name == a.Index.Name {
			return x, true, err
		}
	}
	return x, false, err
}

// is reports whether the index is the one that an action would make.
func (x index) is(want schema.Index) bool { return x.plain && x.like(want) }

// like compares the parts with those of an action. The server writes expressions in its own way.
func (x index) like(want schema.Index) bool {
	return x.Unique == want.Unique && slices.EqualFunc(x.Parts, want.Parts, func(a, b schema.IndexPart) bool {
		return a.Column == b.Column && (a.Expr == "") == (b.Expr == "") && a.Desc == b.Desc
	})
}

// call is an expression that an index may be over: one of the server's own functions, of one column.
var call = lazyregexp.New(`^([a-z_][a-z0-9_]*)\(([a-z_][a-z0-9_]*|"(?:[^"]|"")+")\)$`)

// callOf returns the function and the column of such an expression.
func callOf(expr string) (function, column string, ok bool) {
	m := call.FindStringSubmatch(expr)
	if m == nil {
		return "", "", false
	}
	column = m[2]
	if q, quoted := strings.CutPrefix(column, `"`); quoted {
		column = strings.ReplaceAll(strings.TrimSuffix(q, `"`), `""`, `"`)
	}
	return m[1], column, true
}

// columns returns the parts of an index as they appear between its parentheses. An expression is made of its function
// and column; of any other only an undo of a drop has to do with, which has the server's own definition.
func columns(parts []schema.IndexPart) string {
	var out []string
	for _, p := range parts {
		c := conn.Quote(p.Column)
		if function, column, ok := callOf(p.Expr); ok {
			c = function + "(" + conn.Quote(column) + ")"
		} else if p.Expr != "" {
			c = "(" + p.Expr + ")"
		}
		if p.Desc {
			c += " DESC"
		}
		out = append(out, c)
	}
	return strings.Join(out, ", ")
}

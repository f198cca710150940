package capture

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// Bounds of reading the tables: what is left out when the time is up is counted.
const (
	tablesTime = 5 * time.Second
	someTables = 500 // whose columns and indexes one question asks for
)

// inventory is what the catalog of the session's database has.
type inventory struct {
	tables []schema.Table
	left   known.Value[int]
	source source.Source
}

// relation is a table by the number that the catalog knows it by.
type relation struct {
	oid   uint32
	table schema.Table
}

// readTables reads the users' tables of the database: first those whose names are in first, then the largest. It asks
// the catalog and the server's statistics alone, for which no table is locked. An error is one of the connection.
func readTables(ctx context.Context, c *pgx.Conn, first map[string]bool) (inventory, error) {
	outer, began := ctx, time.Now()
	ctx, cancel := context.WithTimeout(ctx, tablesTime)
	defer cancel()
	inv := inventory{source: source.Source{Name: source.Tables, State: source.OK, Reads: 1}}
	all, err := relations(ctx, c)
	if err == nil {
		slices.SortStableFunc(all, func(a, b relation) int {
			switch x, y := first[a.table.Table], first[b.table.Table]; {
			case x == y:
				return 0
			case x:
				return -1
			}
			return 1
		})
		left := max(0, len(all)-snapshot.MaxTables)
		all = all[:len(all)-left]
		for some := range slices.Chunk(all, someTables) {
			if err = details(ctx, c, some); err != nil {
				left += len(all) - len(inv.tables)
				break
			}
			for _, r := range some {
				inv.tables = append(inv.tables, r.table)
			}
		}
		inv.left = known.Of(left)
	}
	inv.source.Took = time.Since(began).Seconds() * 1000
	if err == nil || outer.Err() != nil {
		return inv, outer.Err()
	}
	src, err := failed(source.Tables, err)
	src.Took = inv.source.Took
	inv.source = src
	return inv, err
}

func relations(ctx context.Context, c *pgx.Conn) (out []relation, err error) {
	// Sizes are those of the last VACUUM or ANALYZE: to ask for the present ones would wait for locks.
	rows, err := c.Query(ctx, pgtext.Tagged(component, `SELECT c.oid, n.nspname::text, c.relname::text,
		c.relkind IN ('v', 'm'), coalesce(a.amname::text, ''),
		CASE WHEN c.reltuples >= 0 THEN c.reltuples::float8 ELSE s.n_live_tup::float8 END,
		CASE WHEN c.relpages > 0 THEN c.relpages::int8 * current_setting('block_size')::int8 END,
		(SELECT count(*) FROM pg_inherits i WHERE i.inhparent = c.oid AND c.relkind = 'p')::int,
		(SELECT extract(epoch FROM clock_timestamp() - d.stats_reset)::int8 FROM pg_stat_database d
			WHERE d.datname = current_database())
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am a ON a.oid = c.relam
		LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
		AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND
			d.deptype = 'e')
		ORDER BY c.relpages DESC, n.nspname, c.relname LIMIT 100000`))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r relation
		var count *float64
		var bytes, counted *int64
		t := &r.table
		err := rows.Scan(&r.oid, &t.Schema, &t.Table, &t.View, &t.Engine, &count, &bytes, &t.Partitions, &counted)
		if err != nil {
			return nil, err
		}
		if count != nil && *count >= 0 {
			t.Rows = known.Of(uint64(*count))
		}
		t.CountedSec = statistics(counted)
		if bytes != nil {
			t.DataBytes = known.Of(uint64(*bytes))
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// details fills in columns, indexes and foreign keys of some tables.
func details(ctx context.Context, c *pgx.Conn, some []relation) error {
	oids, at := make([]uint32, len(some)), map[uint32]*schema.Table{}
	for i := range some {
		oids[i] = some[i].oid
		at[some[i].oid] = &some[i].table
	}
	names := map[uint32]map[int16]string{} // of columns
	if err := columns(ctx, c, oids, at, names); err != nil {
		return err
	}
	if err := indexes(ctx, c, oids, at, names); err != nil {
		return err
	}
	return foreignKeys(ctx, c, oids, at, names)
}

func columns(ctx context.Context, c *pgx.Conn, oids []uint32, at map[uint32]*schema.Table,
	names map[uint32]map[int16]string,
) error {
	rows, err := c.Query(ctx, pgtext.Tagged(component, `SELECT a.attrelid, a.attnum, a.attname::text,
		format_type(a.atttypid, a.atttypmod), t.typname::text, t.typcategory::text, a.attlen, NOT a.attnotnull,
		coalesce(l.collname::text, ''), a.attgenerated::text, a.attidentity::text, s.n_distinct::float8, s.avg_width
		FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation l ON l.oid = a.attcollation
		JOIN pg_class r ON r.oid = a.attrelid JOIN pg_namespace n ON n.oid = r.relnamespace
		LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = r.relname AND s.attname = a.attname AND
			s.inherited = (r.relkind = 'p')
		WHERE a.attrelid = ANY ($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum`), oids)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var oid uint32
		var num, size int16
		var category, generated, identity string
		var distinct *float64
		var width *int32
		var x schema.Column
		if err := rows.Scan(&oid, &num, &x.Name, &x.Type, &x.DataType, &category, &size, &x.Nullable, &x.Collation,
			&generated, &identity, &distinct, &width); err != nil {
			return err
		}
		t := at[oid]
		x.DataType = dataType(x.DataType, category)
		switch {
		case size > 0:
			x.Bytes = int(size)
		case width != nil:
			// What a value can take at most is no use: sizes are worked out with half of it.
			x.Bytes, x.Charset = 2*int(*width), "UTF8"
		}
		if generated == "s" {
			x.Generated = "stored"
		}
		if identity != "" {
			x.Extra = "identity"
		}
		if distinct != nil {
			x.Distinct = distinctOf(*distinct, t.Rows)
		}
		t.Columns = append(t.Columns, x)
		if names[oid] == nil {
			names[oid] = map[int16]string{}
		}
		names[oid][num] = x.Name
	}
	return rows.Err()
}

// distinctOf reads n_distinct of pg_stats: a number of values, or with a minus sign the part of the rows that it is.
func distinctOf(n float64, rows known.Value[uint64]) known.Value[uint64] {
	all, ok := rows.Get()
	switch {
	case n > 0:
		return known.Of(uint64(n))
	case n < 0 && n >= -1 && ok:
		return known.Of(uint64(math.Round(-n * float64(all))))
	}
	return known.None[uint64]()
}

// dataType names a type as the rules of other families name it where an index does with it what it does there: a text
// of any length is indexed whole, as a varchar.
func dataType(name, category string) string {
	switch {
	case category == "A":
		return "array"
	case name == "text" || name == "citext":
		return "varchar"
	case name == "bpchar":
		return "char"
	case name == "int2":
		return "smallint"
	case name == "int4":
		return "int"
	case name == "int8":
		return "bigint"
	}
	return name
}

func indexes(ctx context.Context, c *pgx.Conn, oids []uint32, at map[uint32]*schema.Table,
	names map[uint32]map[int16]string,
) error {
	rows, err := c.Query(ctx, pgtext.Tagged(component, `SELECT i.indrelid, x.relname::text, m.amname::text,
		i.indisunique, i.indisprimary,
		i.indisvalid AND i.indisready AND i.indpred IS NULL AND NOT i.indisexclusion AND i.indnatts = i.indnkeyatts AND
		NOT EXISTS (SELECT FROM unnest(i.indclass::oid[]) o JOIN pg_opclass p ON p.oid = o WHERE NOT p.opcdefault) AND
		NOT EXISTS (SELECT FROM unnest(i.indcollation::oid[]) WITH ORDINALITY u(l, k) JOIN pg_attribute a ON
			a.attrelid = i.indrelid AND a.attnum = i.indkey[k - 1] WHERE u.l <> 0 AND u.l <> a.attcollation),
		i.indisvalid, i.indpred IS NOT NULL, i.indnkeyatts, i.indkey::int2[], i.indoption::int2[],
		CASE WHEN i.indexprs IS NULL THEN '{}' ELSE ARRAY(SELECT pg_get_indexdef(i.indexrelid, k, true) FROM
			generate_series(1, i.indnkeyatts) k) END,
		s.idx_scan, x.relpages::int8 * current_setting('block_size')::int8
		FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
		LEFT JOIN pg_stat_all_indexes s ON s.indexrelid = i.indexrelid
		WHERE i.indrelid = ANY ($1) ORDER BY i.indrelid, NOT i.indisprimary, x.relname`), oids)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var oid uint32
		var x schema.Index
		var access string
		var plain, valid, partial bool
		var keys int16
		var columns, options []int16
		var defs []string
		var scans *int64
		var bytes int64
		if err := rows.Scan(&oid, &x.Name, &access, &x.Unique, &x.PK, &plain, &valid, &partial, &keys, &columns,
			&options, &defs, &scans, &bytes); err != nil {
			return err
		}
		t := at[oid]
		x.Type = strings.ToUpper(access)
		for i := range min(int(keys), len(columns)) {
			p := schema.IndexPart{Column: names[oid][columns[i]]}
			if columns[i] == 0 && i < len(defs) {
				p.Expr = strings.TrimSuffix(strings.TrimPrefix(defs[i], "("), ")")
				if strings.Count(p.Expr, "(") != strings.Count(p.Expr, ")") {
					p.Expr = defs[i]
				}
			}
			if i < len(options) {
				p.Desc = options[i]&1 != 0
				plain = plain && (options[i] == 0 || options[i] == 3) // NULLS where they are by default
			}
			x.Parts = append(x.Parts, p)
		}
		switch {
		case !valid:
			x.Type += ", invalid"
		case partial:
			x.Type += ", partial"
		case !plain:
			x.Type += ", special"
		}
		x.Handled = statistics(scans)
		cardinality(&x, *t)
		t.Indexes = append(t.Indexes, x)
		if !x.PK {
			t.IndexBytes = known.Of(t.IndexBytes.Or(0) + uint64(bytes))
		}
	}
	return rows.Err()
}

// statistics is unknown where the server counts nothing.
func statistics(n *int64) known.Value[uint64] {
	if n == nil {
		return known.None[uint64]()
	}
	return unsigned(*n)
}

// cardinality fills in what the statistics of columns tell of an index: the different values of its first part, and
// that a unique one has as many as there are rows.
func cardinality(x *schema.Index, t schema.Table) {
	if len(x.Parts) == 0 || strings.Contains(x.Type, ",") {
		return
	}
	if c, ok := t.Column(x.Parts[0].Column); ok {
		x.Parts[0].Cardinality = c.Distinct
	}
	if last := &x.Parts[len(x.Parts)-1]; x.Unique {
		last.Cardinality = t.Rows
	}
}

func foreignKeys(ctx context.Context, c *pgx.Conn, oids []uint32, at map[uint32]*schema.Table,
	names map[uint32]map[int16]string,
) error {
	rows, err := c.Query(ctx, pgtext.Tagged(component, `SELECT k.conrelid, k.conname::text, n.nspname::text,
		r.relname::text, k.conkey, ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY u(num, at)
			JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.num ORDER BY u.at)
		FROM pg_constraint k JOIN pg_class r ON r.oid = k.confrelid JOIN pg_namespace n ON n.oid = r.relnamespace
		WHERE k.contype = 'f' AND k.conrelid = ANY ($1) ORDER BY k.conrelid, k.conname`), oids)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var oid uint32
		var k schema.ForeignKey
		var own []int16
		if err := rows.Scan(&oid, &k.Name, &k.To.Schema, &k.To.Table, &own, &k.Refers); err != nil {
			return err
		}
		for _, num := range own {
			k.Columns = append(k.Columns, names[oid][num])
		}
		at[oid].Foreign = append(at[oid].Foreign, k)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read foreign keys: %w", err)
	}
	return nil
}

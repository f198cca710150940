package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dyno/internal/known"
	"dyno/internal/schema"
)

// Inventory is what All gives.
type Inventory struct {
	Tables []schema.Table
	// Left counts tables of users that were not looked at, and views among them; unknown when they could not be counted.
	Left known.Value[int]
	Why  string // why some are left out, "" when none are
}

// Tables are asked about in chunks, so that no question is long and what was read when the time is up counts.
const (
	firstChunk, largestChunk = 100, 1000
	chunkTime                = 250 * time.Millisecond // what a chunk should take: the next is made larger or smaller for it
)

// All returns the tables of users, those that skip names left out, with columns, indexes, keys, triggers and statistics: at most limit of
// them, the largest first where the server's statistics of InnoDB may be read, until the time is used up. Views are left out.
//
// Names are read first, for which no server opens a table; MariaDB and MySQL before 8.0 open each table for the rest. The connection should
// have a limit of time of its own, for what the server does goes on when this program stops waiting. An error means that nothing was read.
func All(ctx context.Context, q Querier, limit int, most time.Duration, skip []schema.Ref) (Inventory, error) {
	var inv Inventory
	end := time.Now().Add(most)
	ctx, cancel := context.WithDeadline(ctx, end.Add(most)) // a server's own limit comes first
	defer cancel()
	has, err := columnsOf(ctx, q, "COLUMNS", "STATISTICS")
	if err != nil {
		return inv, fmt.Errorf("read tables: %w", err)
	}
	var refs []schema.Ref
	err = each(ctx, q, "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA "+ofUsers, nil, func(r row) {
		refs = append(refs, schema.Ref{Schema: r.text(0), Table: r.text(1)})
	})
	if err != nil {
		return inv, fmt.Errorf("list tables: %w", err)
	}
	skipped := map[schema.Ref]bool{}
	for _, r := range skip {
		skipped[r] = true
	}
	refs = slices.DeleteFunc(refs, func(r schema.Ref) bool { return skipped[r] })
	rank(ctx, q, refs)
	seen := 0
	for size := firstChunk; seen < len(refs); {
		switch {
		case len(inv.Tables) >= limit:
			inv.Why = fmt.Sprintf("at most %d are looked at", limit+len(skip))
		case seen > 0 && time.Now().After(end):
			inv.Why = fmt.Sprintf("there was time for %d within %v", seen, most)
		}
		if inv.Why != "" {
			break
		}
		some := refs[seen:min(seen+min(size, limit-len(inv.Tables)), len(refs))]
		began := time.Now()
		tables, err := whole(ctx, q, has, some)
		if err != nil {
			if len(inv.Tables) == 0 {
				return inv, fmt.Errorf("read tables: %w", err)
			}
			inv.Why = fmt.Sprintf("after %d: %v", seen, err)
			break
		}
		seen += len(some)
		inv.Tables = append(inv.Tables, tables...)
		switch took := time.Since(began); {
		case took < chunkTime/2:
			size = min(2*size, largestChunk)
		case took > 2*chunkTime:
			size = max(size/2, firstChunk/4)
		}
	}
	inv.Left = known.Of(len(refs) - seen)
	return inv, nil
}

// whole reads some tables, with a few questions for each schema.
func whole(ctx context.Context, q Querier, has map[string]bool, refs []schema.Ref) (out []schema.Table, err error) {
	names := map[string][]string{}
	var schemas []string
	for _, r := range refs {
		if names[r.Schema] == nil {
			schemas = append(schemas, r.Schema)
		}
		names[r.Schema] = append(names[r.Schema], r.Table)
	}
	for _, s := range schemas {
		p := part{schema: s, names: names[s]}
		tables, err := heads(ctx, q, p)
		if err != nil {
			return nil, err
		}
		tables = slices.DeleteFunc(tables, func(t schema.Table) bool { return t.View || t.Schema != s })
		if len(tables) == 0 {
			continue
		}
		p.names = p.names[:0:0]
		for _, t := range tables {
			p.names = append(p.names, t.Table)
		}
		if err := details(ctx, q, has, p, tables); err != nil {
			return nil, err
		}
		out = append(out, tables...)
	}
	place := make(map[schema.Ref]int, len(refs))
	for i, r := range refs {
		place[r] = i
	}
	slices.SortStableFunc(out, func(a, b schema.Table) int { return cmp.Compare(place[a.Ref], place[b.Ref]) })
	return out, nil
}

// rank orders tables: those of the largest schema first, the largest first in each. Without the right to read the statistics it is the order
// of names.
func rank(ctx context.Context, q Querier, refs []schema.Ref) {
	pages, sum := map[schema.Ref]uint64{}, map[string]uint64{}
	err := each(ctx, q, "SELECT database_name, table_name, clustered_index_size + sum_of_other_index_sizes FROM mysql.innodb_table_stats", nil, func(r row) {
		name, _, _ := strings.Cut(r.text(1), "#") // "t#P#p0" and "t#p#p0" are partitions
		n := number(r, 2).Or(0)
		pages[schema.Ref{Schema: r.text(0), Table: name}] += n
		sum[r.text(0)] += n
	})
	if err != nil { // a privilege is missing, or a very old server: any order is as good
		clear(pages)
		clear(sum)
	}
	slices.SortFunc(refs, func(a, b schema.Ref) int {
		return cmp.Or(cmp.Compare(sum[b.Schema], sum[a.Schema]), cmp.Compare(a.Schema, b.Schema), cmp.Compare(pages[b], pages[a]), cmp.Compare(a.Table, b.Table))
	})
}

package change

import (
	"context"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// A build reads the table twice, sorts the entries and writes them. A quick disk or a table in memory manages the
	// first rate, a poor one the second, bytes per second.
	quick, slow = 150e6, 10e6
	// entryBytes is what a B-tree keeps beside the columns of an entry: its header, the line pointer, alignment.
	// https://www.postgresql.org/docs/current/storage-page-layout.html
	entryBytes = 8 + 4 + 4
	// fill is how full the leaf pages of a fresh index are.
	fill = 0.9
)

// estimate adds what the index takes on disk and how long its build takes, where statistics say how wide its columns
// are, and whether the disk has room for it.
func (k *addIndex) estimate(ctx context.Context, s session, t table, p *change.Preview) error {
	var names []string
	for _, part := range k.a.Index.Parts {
		column := part.Column
		if _, of, ok := callOf(part.Expr); ok { // a value of it is taken to be as wide as one of the column
			column = of
		}
		names = append(names, column)
	}
	var width, n int
	if _, err := s.ask(ctx, "read the statistics", "SELECT coalesce(sum(avg_width), 0), count(*) FROM pg_stats WHERE "+
		"schemaname = $1 AND tablename = $2 AND attname = ANY ($3::text[]) AND NOT inherited",
		[]any{k.a.Table.Schema, k.a.Table.Table, names}, &width, &n); err != nil {
		return err
	}
	if t.rows < 0 || n == 0 || n != len(names) {
		p.Warn("how large the index becomes is unknown: the table has no statistics that the account sees; "+
			"ANALYZE %s collects them", k.a.Table)
		return nil
	}
	bytes := t.rows * float64(entryBytes+width) / fill
	p.Bytes = known.Of(bytes)
	p.SecondsLo, p.SecondsHi = known.Of((2*t.bytes+2*bytes)/quick), known.Of((2*t.bytes+2*bytes)/slow)
	free, ok := room(ctx, k.t)
	switch {
	case !ok:
		p.Warn("free disk space could not be checked from here: the index takes about %s, and as much again to sort",
			unit.Bytes(bytes))
	case free < 2*bytes*1.2:
		p.Block("the data directory has %s free, and the index takes about %s, and as much again to sort",
			unit.Bytes(free), unit.Bytes(bytes))
	case free < 2*bytes*3:
		p.Warn("the data directory has %s free, and the index takes about %s, and as much again to sort",
			unit.Bytes(free), unit.Bytes(bytes))
	}
	return nil
}

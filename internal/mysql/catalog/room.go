package catalog

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/schema"
)

// room is what reading tables may take of the server's cache of open tables: half of what is free, or a few tables
// where it is full, as it is on every server with more tables than that for long. It is counted by the session.
type room struct {
	most   int // tables that may be opened
	pushed int // tables that may be pushed out, because a cache in parts may be full where the whole is not
	cache  int // table_open_cache
	open   int // tables open before

	opened, overflows   int // of the session, now
	opened0, overflows0 int // and before
}

// shareOfFull is the part of a full cache that one reading may renew.
const shareOfFull = 64

// room asks how much room there is.
func (r *reader) room(ctx context.Context) (*room, error) {
	if r.dictionary() {
		return &room{most: math.MaxInt, pushed: math.MaxInt}, nil
	}
	x := &room{}
	for query, into := range map[string]map[string]*int{
		"SHOW GLOBAL VARIABLES WHERE Variable_name IN ('table_open_cache','table_cache')": {
			"table_open_cache": &x.cache, "table_cache": &x.cache,
		},
		"SHOW GLOBAL STATUS WHERE Variable_name = 'Open_tables'": {"open_tables": &x.open},
	} {
		if err := numbers(ctx, r.q, query, into); err != nil {
			return nil, err
		}
	}
	x.pushed = max(1, x.cache/shareOfFull)
	x.most = max(x.pushed, (x.cache-x.open)/2)
	err := x.look(ctx, r.q)
	x.opened0, x.overflows0 = x.opened, x.overflows
	return x, err
}

// look asks what the session has opened until now.
func (x *room) look(ctx context.Context, q Querier) error {
	if x.most == math.MaxInt {
		return nil
	}
	return numbers(ctx, q, "SHOW SESSION STATUS WHERE Variable_name IN ('Opened_tables','Table_open_cache_overflows')",
		map[string]*int{"opened_tables": &x.opened, "table_open_cache_overflows": &x.overflows})
}

// left returns how many tables may still be opened.
func (x *room) left() int {
	if x.overflows-x.overflows0 >= x.pushed {
		return 0
	}
	return x.most - (x.opened - x.opened0)
}

func (x *room) why() string {
	return fmt.Sprintf("others would be pushed out of the server's cache of open tables (table_open_cache = %d, of "+
		"which %d were in use)", x.cache, x.open)
}

// openFirst puts those tables of each list first that the server has open: reading them takes no room.
func (x *room) openFirst(ctx context.Context, q Querier, lists ...[]schema.Ref) {
	open := map[schema.Ref]int{}
	for _, ref := range slices.Concat(lists...) {
		open[ref] = 0
	}
	_ = each(ctx, q, "SHOW OPEN TABLES", nil, func(r row) {
		ref := schema.Ref{Schema: r.text(0), Table: r.text(1)}
		if _, asked := open[ref]; asked {
			open[ref] = 1
		}
	})
	for _, refs := range lists {
		slices.SortStableFunc(refs, func(a, b schema.Ref) int { return open[b] - open[a] })
	}
}

// numbers reads variables whose values are numbers.
func numbers(ctx context.Context, q Querier, query string, into map[string]*int) error {
	return each(ctx, q, query, nil, func(r row) {
		if p := into[strings.ToLower(r.text(0))]; p != nil {
			*p, _ = strconv.Atoi(r.text(1))
		}
	})
}

package apply

import (
	"context"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/alter"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
)

// Hide takes an index from the optimiser's eyes without dropping it: INVISIBLE in MySQL 8.0, IGNORED in MariaDB 10.6.
// The server goes on keeping it up to date, so Show brings it back at once. An index that is hidden already is no
// error.
func Hide(ctx context.Context, t *target.Target, table schema.Ref, index string) error {
	return turn(ctx, t, table, index, true)
}

// Show takes Hide back.
func Show(ctx context.Context, t *target.Target, table schema.Ref, index string) error {
	return turn(ctx, t, table, index, false)
}

// visibility returns the server's words for hiding and showing an index; false when it can do neither.
func visibility(t *target.Target) (hide, show string, can bool) {
	switch {
	case t.Has(target.HasInvisibleIndex):
		return "INVISIBLE", "VISIBLE", true
	case t.Has(target.HasIgnoredIndex):
		return "IGNORED", "NOT IGNORED", true
	}
	return "", "", false
}

// visible is the change that hides or shows an index, by the server's word for that.
func visible(table schema.Ref, index, word string) alter.Alteration {
	return alter.Alteration{Table: table, SQL: "ALTER INDEX " + ddl.Quote(index) + " " + word}
}

func turn(ctx context.Context, t *target.Target, table schema.Ref, index string, hide bool) error {
	op := "show index"
	if hide {
		op = "hide index"
	}
	op += " " + index + " of " + table.String()
	hidden, shown, can := visibility(t)
	if !can {
		return &endpoint.Error{
			Op: op, Kind: endpoint.Unsupported, Target: "on " + t.Spec().Where(),
			Err: fmt.Errorf("%s %s cannot hide an index", t.Facts().Flavor, t.Facts().Version),
			Fix: "indexes can be hidden from MySQL 8.0 and MariaDB 10.6 on",
		}
	}
	word := shown
	if hide {
		word = hidden
	}
	x, err := lookup(ctx, t, table, index)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if x.Hidden == hide {
		return nil
	}
	if grant, err := missing(ctx, t, "ALTER", table); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	} else if grant != "" {
		return fmt.Errorf("%s: %w", op, &change.BlockedError{Blockers: []string{"a privilege is missing: " + grant}})
	}
	if err := alter.Native(ctx, t, visible(table, x.Name, word), nil, nil); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if x, err = lookup(ctx, t, table, index); err != nil {
		return fmt.Errorf("%s: verify: %w", op, err)
	}
	if x.Hidden != hide {
		return fmt.Errorf("%s: the server reported success, but nothing changed", op)
	}
	return nil
}

func lookup(ctx context.Context, t *target.Target, table schema.Ref, index string) (schema.Index, error) {
	tables, err := catalog.Tables(ctx, t.DB(), []schema.Ref{table})
	if err != nil {
		return schema.Index{}, t.Wrap("look for the index", err)
	}
	if len(tables) == 0 {
		return schema.Index{}, fmt.Errorf("there is no table %s", table)
	}
	for _, x := range tables[0].Indexes {
		if strings.EqualFold(x.Name, index) {
			return x, nil
		}
	}
	return schema.Index{}, fmt.Errorf("table %s has no index %s", table, index)
}

package catalog

import (
	"context"
	"fmt"

	"github.com/dyno-perf/dyno/internal/sqltext"
)

// mostNames bounds what Names reads of a schema with very many tables.
const mostNames = 5000

// Names returns the names of a schema's tables and views in order, at most the first 5000.
func Names(ctx context.Context, q Querier, schema string) ([]string, error) {
	rows, err := q.QueryContext(ctx, sqltext.Tagged("catalog", "names",
		fmt.Sprintf("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? ORDER BY TABLE_NAME "+
			"LIMIT %d", mostNames)), schema)
	if err != nil {
		return nil, fmt.Errorf("list tables of %s: %w", schema, err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() && len(names) < mostNames {
		var n string
		if err := rows.Scan(&n); err != nil {
			return nil, fmt.Errorf("list tables of %s: %w", schema, err)
		}
		names = append(names, n)
	}
	return names, rows.Err()
}

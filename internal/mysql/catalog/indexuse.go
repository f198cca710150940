package catalog

import (
	"context"
	"fmt"
	"strconv"

	"github.com/dyno-perf/dyno/internal/schema"
)

// IndexRef names an index.
type IndexRef struct {
	schema.Ref
	Index string
}

// IndexUse returns how many rows were handled through each index of users' tables since the server began to count: when
// it started, when the table was first opened after that, or when somebody emptied the figures. An index that is not
// listed was not counted. It needs performance_schema and SELECT on it. At most limit indexes are listed.
func IndexUse(ctx context.Context, q Querier, limit int) (map[IndexRef]uint64, error) {
	use := map[IndexRef]uint64{}
	err := each(ctx, q, "SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, COUNT_STAR FROM "+
		"performance_schema.table_io_waits_summary_by_index_usage"+
		" WHERE INDEX_NAME IS NOT NULL AND OBJECT_TYPE = 'TABLE' AND OBJECT_SCHEMA "+ofUsers+" LIMIT "+
		strconv.Itoa(limit), nil, func(r row) {
		if n, ok := number(r, 3).Get(); ok && len(use) < limit {
			use[IndexRef{schema.Ref{Schema: r.text(0), Table: r.text(1)}, r.text(2)}] = n
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the use of indexes: %w", err)
	}
	return use, nil
}

package apply

import (
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
)

const (
	// Building an index reads the table and sorts and writes the entries. A quick disk or a table in memory manages the
	// first rate, a poor one the second, bytes per second.
	quick, slow = 150e6, 10e6
)

// buildSeconds estimates how long the server builds an index of that size: from, to.
func buildSeconds(t schema.Table, size known.Value[float64]) (lo, hi known.Value[float64]) {
	data, ok1 := t.DataBytes.Get()
	n, ok2 := size.Get()
	if !ok1 || !ok2 {
		return lo, hi
	}
	bytes := float64(data) + 2*n
	return known.Of(bytes / quick), known.Of(bytes / slow)
}

// keyLimit is the most bytes of an index entry for InnoDB's row formats DYNAMIC and COMPRESSED with pages of 16 KiB,
// and of one column for REDUNDANT and COMPACT: https://dev.mysql.com/doc/refman/9.0/en/innodb-limits.html
const (
	keyLimit     = 3072
	oldPartLimit = 767
	maxIndexes   = 64
	maxParts     = 16
)

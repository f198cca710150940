package schema

import (
	"math"
	"testing"

	"github.com/dyno-perf/dyno/internal/known"
)

func TestSizeOf(t *testing.T) {
	tab := Table{
		Rows: known.Of(uint64(1000)), DataBytes: known.Of(uint64(100_000)),
		Columns: []Column{
			{Name: "id", Bytes: 8, DataType: "bigint"},
			{Name: "n", Bytes: 4, DataType: "int"},
			{Name: "name", Bytes: 400, DataType: "varchar", Charset: "utf8mb4"},
		},
		Indexes: []Index{{Name: "PRIMARY", Unique: true, Parts: []IndexPart{{Column: "id"}}}},
	}
	f := func(want float64, parts ...IndexPart) {
		t.Helper()
		n, ok := tab.SizeOf(Index{Parts: parts}).Get()
		if got := n * fill / 1000; ok != (want > 0) || math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %v bytes an entry (%v), want %v", parts, got, ok, want)
		}
	}
	f(4+8+entryOverhead, IndexPart{Column: "n"})
	f(100+8+entryOverhead, IndexPart{Column: "name"}) // no more than a row
	f(20+8+entryOverhead, IndexPart{Column: "name", Prefix: 10})
	f(8+entryOverhead, IndexPart{Column: "id"}) // the primary key is there already
	f(0, IndexPart{Expr: "n + 1"})
	f(0, IndexPart{Column: "missing"})
	tab.Rows = known.None[uint64]()
	f(0, IndexPart{Column: "n"})
}

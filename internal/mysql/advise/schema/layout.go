package schema

import "github.com/dyno-perf/dyno/internal/advise"

// layoutRules are those about keys, storage and stored programs.
func layoutRules() []advise.Rule {
	return []advise.Rule{
		{Name: "hot-column-in-pk", Doc: "updates change a column of the primary key, so that rows move and all " +
			"indexes with them", Find: hotColumnInPK},
		{Name: "wide-pk", Doc: "a long primary key is repeated in every entry of several other indexes", Find: widePK},
		{
			Name: "fragmented-table", Doc: "a table takes several times the space that its rows need",
			Find: fragmentedTable,
		},
		{Name: "failed-compression", Doc: "page compression fails", Find: failedCompression},
		{Name: "trigger-cost", Doc: "a trigger takes a large part of the statement time", Find: triggerCost},
		{Name: "disk-temp-tables", Doc: "temporary tables of a class of statements go to disk", Find: diskTempTables},
		{Name: "big-delete", Doc: "a DELETE of many rows in one statement blocks other sessions", Find: bigDelete},
	}
}

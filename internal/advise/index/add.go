package index

import "github.com/dyno-perf/dyno/internal/advise"

// addRules are those that find an index to add or to lay out anew.
func addRules() []advise.Rule {
	w := new(workload)
	return []advise.Rule{
		{Name: missingIndex, Doc: "A class of statements reads whole tables to find few rows, and no index serves " +
			"its conditions.", Find: w.rule(missing)},
		{Name: unindexedJoin, Doc: "A join reads a whole table for the rows of another one, because no index serves " +
			"the join condition.", Find: w.rule(unindexedJoins)},
		{Name: indexScan, Doc: "A class reads a whole index to find few entries, because the index does not begin " +
			"with a column of its conditions.", Find: w.rule(indexScans)},
		{Name: indexOrder, Doc: "An index holds all columns of a class's conditions, in an order that looks up only " +
			"some of them.", Find: w.rule(indexOrders)},
		{Name: filesort, Doc: "A class reads and sorts many rows to return the first few, where an index could give " +
			"the order.", Find: w.rule(filesorts)},
		{Name: twoSingleIndexes, Doc: "Conditions on several columns use an index on each, where one index on all of " +
			"them finds just the rows.", Find: w.rule(twoSingles)},
		{Name: narrowIndex, Doc: "An index looks up only some of the columns of a class's conditions, and finds far " +
			"more rows than are needed.", Find: w.rule(narrowIndexes)},
		{Name: unindexedOr, Doc: "A class reads whole tables for rows that meet one of several conditions, of which " +
			"not every one has an index.", Find: unindexedOrs},
		{
			Name: indexHint, Doc: "A hint of the statement names the only indexes that the server may use, and they " +
				"do not find its rows.",
			Find: w.rule(indexHints),
		},
		{Name: coveringIndex, Doc: "An index finds many matching rows, and each is looked up in the table for a few " +
			"short columns.", Find: w.rule(coveringIndexes)},
	}
}

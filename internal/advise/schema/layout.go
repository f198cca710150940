package schema

import "dyno/internal/advise"

// layoutRules are those about keys, storage and stored programs.
func layoutRules() []advise.Rule {
	return []advise.Rule{
		{Name: "hot-column-in-pk", Doc: "updates change a column of the primary key, so that rows move and all indexes with them", Find: hotColumnInPK},
		{Name: "wide-pk", Doc: "a long primary key is repeated in every entry of several other indexes", Find: widePK},
		{Name: "fragmented-table", Doc: "a table takes several times the room that its rows need", Find: fragmentedTable},
		{Name: "failed-compression", Doc: "pages are compressed in vain", Find: failedCompression},
		{Name: "trigger-cost", Doc: "a trigger takes a good part of the statement time", Find: triggerCost},
		{Name: "disk-temp-tables", Doc: "temporary tables of a class of statements go to disk", Find: diskTempTables},
		{Name: "big-delete", Doc: "a DELETE of many rows in one statement keeps others waiting for their locks", Find: bigDelete},
	}
}

package schema

import "github.com/dyno-perf/dyno/internal/advise"

// typeRules are those about how columns are compared.
func typeRules() []advise.Rule {
	return []advise.Rule{
		{Name: "function-on-column", Doc: "A class of statements compares a function of a column with a value, so no " +
			"index on the column can be used.", Find: functionOnColumn},
		{
			Name: "implicit-conversion", Doc: "Texts are compared with numbers, so the index on the text cannot be " +
				"used.",
			Find: implicitConversion,
		},
		{Name: "collation-join", Doc: "A join compares texts of different character sets or collations, so that one " +
			"side's index cannot be used.", Find: collationJoin},
	}
}

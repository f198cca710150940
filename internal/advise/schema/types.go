package schema

import "dyno/internal/advise"

// typeRules are those about how columns are compared.
func typeRules() []advise.Rule {
	return []advise.Rule{
		{Name: "function-on-column", Doc: "A class of statements holds a function of a column against a value, so that no index on the column serves it.", Find: functionOnColumn},
		{Name: "implicit-conversion", Doc: "Texts are compared with numbers, so that the index on the text cannot be used.", Find: implicitConversion},
		{Name: "collation-join", Doc: "A join compares texts of different character sets or collations, so that one side's index cannot be used.", Find: collationJoin},
	}
}

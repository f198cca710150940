package explain

import (
	"slices"
	"strconv"
	"strings"
)

// Tabular decodes what EXPLAIN prints as a table, the same form in MariaDB and in MySQL 5.6 to 9.x when asked for as
// EXPLAIN FORMAT=TRADITIONAL (plain EXPLAIN where that is unknown). Columns are found by name without regard to case, a
// cell that is empty or NULL says nothing, and a figure that is none counts as not told. Rows of a UNION's result and
// such that name no table keep their place with an empty Access. Raw holds the table again as text.
//
// A result without a column "table" is no plan: Error says so.
func Tabular(columns []string, rows [][]string) Plan {
	at := func(name string) int {
		return slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(strings.TrimSpace(c), name) })
	}
	if at("table") < 0 || at("type") < 0 {
		return Plan{Error: "the server's answer to EXPLAIN has no columns table and type"}
	}
	var raw strings.Builder
	raw.WriteString(strings.Join(columns, "\t"))
	p := Plan{}
	for _, r := range rows {
		raw.WriteString("\n" + strings.Join(r, "\t"))
		cell := func(name string) string {
			i := at(name)
			if i < 0 || i >= len(r) || strings.EqualFold(r[i], "NULL") {
				return ""
			}
			return strings.TrimSpace(r[i])
		}
		p.Steps = append(p.Steps, Step{
			SelectType:   cell("select_type"),
			Table:        cell("table"),
			Access:       cell("type"),
			PossibleKeys: split(cell("possible_keys"), ","),
			Key:          cell("key"),
			KeyLen:       cell("key_len"),
			Ref:          cell("ref"),
			Rows:         figure(cell("rows")),
			Filtered:     figure(cell("filtered")),
			Extra:        split(cell("Extra"), ";"),
		})
	}
	if len(p.Steps) == 0 {
		p.Error = "the server's answer to EXPLAIN has no rows"
	}
	p.Raw = raw.String()
	return p
}

func split(s, sep string) (out []string) {
	const most = 64 // a table has no more indexes
	for _, x := range strings.SplitN(s, sep, most) {
		if x = strings.TrimSpace(x); x != "" {
			out = append(out, x)
		}
	}
	return out
}

// figure reads a number; anything else, a negative or an endless one is 0, which means not told.
func figure(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0) || v > 1e300 {
		return 0
	}
	return v
}

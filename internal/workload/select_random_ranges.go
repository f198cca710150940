package workload

// RandomRanges counts the rows of several short ranges of k in one statement.
type RandomRanges struct{}

// Name returns select_random_ranges.
func (RandomRanges) Name() string { return "select_random_ranges" }

// Title says what it does.
func (RandomRanges) Title() string {
	return "counts the rows of 10 short ranges of the indexed column k"
}

// Options returns those of the OLTP family and three more.
func (RandomRanges) Options() []Option {
	return segmentedOptions(
		Option{
			Name: "number-of-ranges", Type: Number, Default: "10", Max: maxMarkers / 2,
			Help: "ranges in a statement",
		},
		Option{Name: "delta", Type: Number, Default: "5", Max: maxRows, Help: "difference between the ends of a range"},
	)
}

// Build settles the options.
func (w RandomRanges) Build(given map[string]string) (*Plan, error) {
	v, err := Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	n := v.Int("number-of-ranges")
	if n < 1 {
		return nil, &OptionError{"number-of-ranges", v.Text("number-of-ranges"), "takes a number from 1"}
	}
	s := Statement{Name: "random ranges", SQL: "SELECT count(k) FROM sbtest1 WHERE %s", Kind: Read, Rows: true}
	return segmentedPlan(w.Name(), v, s, "k BETWEEN ? AND ?", " OR ", n, 2, v.Int("delta"))
}

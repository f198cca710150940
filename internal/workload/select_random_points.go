package workload

// RandomPoints reads the rows of several values of k with one IN list.
type RandomPoints struct{}

// Name returns select_random_points.
func (RandomPoints) Name() string { return "select_random_points" }

// Title says what it does.
func (RandomPoints) Title() string { return "reads the rows of 10 values of the indexed column k" }

// Options returns those of the OLTP family and two more.
func (RandomPoints) Options() []Option {
	return segmentedOptions(Option{
		Name: "random-points", Type: Number, Default: "10", Max: maxMarkers,
		Help: "values in the IN list of a statement",
	})
}

// Build settles the options.
func (w RandomPoints) Build(given map[string]string) (*Plan, error) {
	v, err := Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	n := v.Int("random-points")
	if n < 1 {
		return nil, &OptionError{"random-points", v.Text("random-points"), "takes a number from 1"}
	}
	s := Statement{
		Name: "random points", SQL: "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (%s)",
		Kind: Read, Rows: true,
	}
	return segmentedPlan(w.Name(), v, s, "?", ", ", n, 1, 0)
}

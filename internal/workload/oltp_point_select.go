package workload

// PointSelect reads one row by its id, again and again.
type PointSelect struct{}

// Name returns oltp_point_select.
func (PointSelect) Name() string { return "oltp_point_select" }

// Title says what it does.
func (PointSelect) Title() string { return "reads one row by its primary key" }

// Options returns those of the OLTP family.
func (PointSelect) Options() []Option { return oltpOptions() }

// Build settles the options. As in sysbench an operation is one statement whatever point-selects says, and there are no
// transactions.
func (w PointSelect) Build(given map[string]string) (*Plan, error) {
	v, err := Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	v["point-selects"] = "1"
	var mix oltpMix
	mix.times[oltpPoint] = 1
	return oltpPlan(w.Name(), v, mix, "point-selects")
}

package workload

// UpdateNonIndex changes a column without index of one row, again and again.
type UpdateNonIndex struct{}

// Name returns oltp_update_non_index.
func (UpdateNonIndex) Name() string { return "oltp_update_non_index" }

// Title says what it does.
func (UpdateNonIndex) Title() string { return "changes a column without index of one row" }

// Options returns those of the OLTP family.
func (UpdateNonIndex) Options() []Option { return oltpOptions() }

// Build settles the options. As in sysbench there are no transactions, and an operation is non-index-updates
// statements.
func (w UpdateNonIndex) Build(given map[string]string) (*Plan, error) {
	v, err := Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	var mix oltpMix
	mix.times[oltpNonIndexUpdate] = v.Int("non-index-updates")
	return oltpPlan(w.Name(), v, mix, "non-index-updates")
}

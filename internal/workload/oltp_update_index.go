package workload

// UpdateIndex changes an indexed column of one row, again and again.
type UpdateIndex struct{}

// Name returns oltp_update_index.
func (UpdateIndex) Name() string { return "oltp_update_index" }

// Title says what it does.
func (UpdateIndex) Title() string { return "changes an indexed column of one row" }

// Options returns those of the OLTP family.
func (UpdateIndex) Options() []Option { return oltpOptions() }

// Build settles the options. As in sysbench there are no transactions, and an operation is index-updates statements.
func (w UpdateIndex) Build(given map[string]string) (*Plan, error) {
	v, err := Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	var mix oltpMix
	mix.times[oltpIndexUpdate] = v.Int("index-updates")
	return oltpPlan(w.Name(), v, mix, "index-updates")
}

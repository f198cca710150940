package workload

// Delete deletes one row by its id, again and again: ever more of the rows are gone already.
type Delete struct{}

// Name returns oltp_delete.
func (Delete) Name() string { return "oltp_delete" }

// Title says what it does.
func (Delete) Title() string { return "deletes one row by its primary key" }

// Options returns those of the OLTP family.
func (Delete) Options() []Option { return oltpOptions() }

// Build settles the options. As in sysbench an operation is one statement, and there are no transactions.
func (w Delete) Build(given map[string]string) (*Plan, error) {
	v, err := Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	var mix oltpMix
	mix.times[oltpDelete] = 1
	p, err := oltpPlan(w.Name(), v, mix, "delete-inserts")
	if err != nil {
		return nil, err
	}
	p.Notes = append(p.Notes, "rows that are deleted do not come back: the longer the run, the more statements find "+
		"nothing to delete; prepare again before each run")
	return p, nil
}

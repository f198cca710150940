package workload

// ReadOnly reads rows and ranges in one transaction.
type ReadOnly struct{}

// Name returns oltp_read_only.
func (ReadOnly) Name() string { return "oltp_read_only" }

// Title says what it does.
func (ReadOnly) Title() string {
	return "a transaction of 10 reads by primary key and 4 ranges: plain, summed, sorted, distinct"
}

// Options returns those of the OLTP family.
func (ReadOnly) Options() []Option { return oltpOptions() }

// Build settles the options.
func (w ReadOnly) Build(given map[string]string) (*Plan, error) {
	v, err := Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	mix := oltpMix{transaction: !v.Bool("skip-trx")}
	oltpReads(v, &mix)
	return oltpPlan(w.Name(), v, mix, "point-selects")
}

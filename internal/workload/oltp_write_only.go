package workload

// WriteOnly updates, deletes and inserts in one transaction.
type WriteOnly struct{}

// Name returns oltp_write_only.
func (WriteOnly) Name() string { return "oltp_write_only" }

// Title says what it does.
func (WriteOnly) Title() string {
	return "a transaction of 2 updates, and one row deleted and inserted again"
}

// Options returns those of the OLTP family.
func (WriteOnly) Options() []Option { return oltpOptions() }

// Build settles the options.
func (w WriteOnly) Build(given map[string]string) (*Plan, error) {
	v, err := Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	mix := oltpMix{transaction: !v.Bool("skip-trx")}
	oltpWrites(v, &mix)
	return oltpPlan(w.Name(), v, mix, "index-updates")
}

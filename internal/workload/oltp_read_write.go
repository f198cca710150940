package workload

// ReadWrite reads as ReadOnly does, then updates, deletes and inserts.
type ReadWrite struct{}

// Name returns oltp_read_write.
func (ReadWrite) Name() string { return "oltp_read_write" }

// Title says what it does.
func (ReadWrite) Title() string {
	return "a transaction of 14 reads, 2 updates, and one row deleted and inserted again"
}

// Options returns those of the OLTP family.
func (ReadWrite) Options() []Option { return oltpOptions() }

// Build settles the options.
func (w ReadWrite) Build(given map[string]string) (*Plan, error) {
	v, err := Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	mix := oltpMix{transaction: !v.Bool("skip-trx")}
	oltpReads(v, &mix)
	oltpWrites(v, &mix)
	return oltpPlan(w.Name(), v, mix, "point-selects")
}

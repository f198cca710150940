package tpcc

import "dyno/internal/workload"

// nextOfStatus: clause 2.6.2.
func (g *generator) nextOfStatus(c *workload.Call) (bool, error) {
	step := g.step
	g.step++
	switch step {
	case 0:
		return g.plain(c, begin)
	case 1:
		if g.byName {
			return g.call(c, statusCount, num(g.cw), num(g.cd), workload.Bytes(g.last))
		}
		g.found = int64(g.customer)
		g.step = 3
		return g.call(c, statusCustomer, num(g.cw), num(g.cd), workload.Int(g.found))
	case 2:
		return g.call(c, statusByName, num(g.cw), num(g.cd), workload.Bytes(g.last))
	case 3:
		if g.rows == 0 {
			return g.missing("customer")
		}
		return g.call(c, statusOrder, num(g.cw), num(g.cd), workload.Int(g.found))
	case 4:
		if g.rows == 0 {
			return g.missing("order")
		}
		return g.call(c, statusLines, num(g.cw), num(g.cd), workload.Int(g.number))
	case 5:
		return g.plain(c, commit)
	}
	return false, nil
}

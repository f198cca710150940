package tpcc

import "github.com/dyno-perf/dyno/internal/workload"

// nextOfDelivery: clause 2.7.4, all districts of the warehouse in one transaction. The order is updated before its
// customer is read: a transaction sees its own change, also where an order is younger than the state that it reads
// otherwise.
func (g *generator) nextOfDelivery(c *workload.Call) (bool, error) {
	step := g.step
	g.step++
	if step == 0 {
		return g.plain(c, begin)
	}
	if g.i == districts {
		if step == 1 {
			return g.plain(c, commit)
		}
		return false, nil
	}
	w, d := num(g.w), num(g.i+1)
	switch step {
	case 1:
		return g.call(c, deliveryNext, w, d)
	case 2:
		if g.rows == 0 { // nothing to deliver
			g.i++
			g.step = 1
			return g.nextOfDelivery(c)
		}
		g.order = g.number
		return g.call(c, deliveryTake, w, d, workload.Int(g.order))
	case 3:
		return g.call(c, deliveryOrder, num(g.carrier), w, d, workload.Int(g.order))
	case 4:
		return g.call(c, deliveryCustomer, w, d, workload.Int(g.order))
	case 5:
		if g.rows == 0 {
			return g.missing("order")
		}
		g.found = g.number
		return g.call(c, deliveryLines, w, d, workload.Int(g.order))
	case 6:
		return g.call(c, deliverySum, w, d, workload.Int(g.order))
	}
	if g.rows == 0 || len(g.sum) == 0 {
		return g.missing("line")
	}
	g.i++
	g.step = 1
	return g.call(c, deliveryPay, workload.Bytes(g.sum), w, d, workload.Int(g.found))
}

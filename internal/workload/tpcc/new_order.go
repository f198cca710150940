package tpcc

import "github.com/dyno-perf/dyno/internal/workload"

// Steps of a new order: clause 2.4.2. The lines follow, four statements each.
const orderHead = 6

func (g *generator) nextOfOrder(c *workload.Call) (bool, error) {
	step := g.step
	g.step++
	switch step {
	case 0:
		return g.plain(c, begin)
	case 1:
		return g.call(c, noCustomer, num(g.w), num(g.d), num(g.customer))
	case 2:
		if g.rows == 0 {
			return g.missing("customer")
		}
		return g.call(c, noDistrict, num(g.w), num(g.d))
	case 3:
		if g.rows == 0 {
			return g.missing("district")
		}
		g.order = g.number
		return g.call(c, noNext, workload.Int(g.order+1), num(g.w), num(g.d))
	case 4:
		return g.call(c, noOrder, workload.Int(g.order), num(g.d), num(g.w), num(g.customer), num(g.n), num(g.allLocal))
	case 5:
		return g.call(c, noQueue, workload.Int(g.order), num(g.d), num(g.w))
	}
	i := (step - orderHead) / 4
	if i == g.n {
		return g.endOrder(c, step)
	}
	l := &g.lines[i]
	switch (step - orderHead) % 4 {
	case 0:
		return g.call(c, noItem, num(l.item))
	case 1:
		if g.rows == 0 {
			if g.kind != rolledBack || i < g.n-1 {
				return g.missing("item")
			}
			g.step = orderHead + 4*g.n + 1
			return g.plain(c, rollback)
		}
		return g.call(c, noStock, num(g.d), num(l.supply), num(l.item))
	case 2:
		if g.rows == 0 {
			return g.missing("stock")
		}
		left, remote := g.number-int64(l.quantity), 0
		if left < 10 {
			left += 91
		}
		if l.supply != g.w {
			remote = 1
		}
		return g.call(c, noTake, workload.Int(left), num(l.quantity), num(remote), num(l.supply), num(l.item))
	}
	g.sum = appendCents(g.sumBuf[:0], g.price*int64(l.quantity))
	return g.call(c, noLine, workload.Int(g.order), num(g.d), num(g.w), num(i+1), num(l.item), num(l.supply),
		num(l.quantity), workload.Bytes(g.sum), workload.Bytes(g.info))
}

// endOrder commits after the last line. An item that was to be unknown and is there is an order like others, but never
// kept.
func (g *generator) endOrder(c *workload.Call, step int) (bool, error) {
	switch {
	case step > orderHead+4*g.n:
		if g.kind == newOrder {
			g.op.Mark = [4]int64{int64(g.w), int64(g.d), g.order, int64(g.set) + 1}
		}
		return false, nil
	case g.kind == rolledBack:
		return g.plain(c, rollback)
	}
	return g.plain(c, commit)
}

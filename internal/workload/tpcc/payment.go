package tpcc

import (
	"strconv"

	"github.com/dyno-perf/dyno/internal/workload"
)

// nextOfPayment: clause 2.5.2.
func (g *generator) nextOfPayment(c *workload.Call) (bool, error) {
	step := g.step
	g.step++
	amount := workload.Bytes(g.amount)
	switch step {
	case 0:
		return g.plain(c, begin)
	case 1:
		return g.call(c, payWarehouse, amount, num(g.w))
	case 2:
		return g.call(c, payWarehouseName, num(g.w))
	case 3:
		if g.rows == 0 {
			return g.missing("warehouse")
		}
		return g.call(c, payDistrict, amount, num(g.w), num(g.d))
	case 4:
		return g.call(c, payDistrictName, num(g.w), num(g.d))
	case 5:
		if g.rows == 0 {
			return g.missing("district")
		}
		if g.byName {
			return g.call(c, payCount, num(g.cw), num(g.cd), workload.Bytes(g.last))
		}
		g.found = int64(g.customer)
		g.step = 8
		return g.call(c, payCustomer, num(g.cw), num(g.cd), workload.Int(g.found))
	case 6:
		return g.call(c, payByName, num(g.cw), num(g.cd), workload.Bytes(g.last))
	case 7:
		if g.rows == 0 {
			return g.missing("customer")
		}
		return g.call(c, payCustomer, num(g.cw), num(g.cd), workload.Int(g.found))
	case 8:
		if g.rows == 0 {
			return g.missing("customer")
		}
		if g.bad {
			return g.call(c, payData, num(g.cw), num(g.cd), workload.Int(g.found))
		}
		g.step = 10
		return g.call(c, payUpdate, amount, amount, num(g.cw), num(g.cd), workload.Int(g.found))
	case 9:
		if g.rows == 0 {
			return g.missing("customer")
		}
		return g.call(c, payUpdateData, amount, amount, workload.Bytes(g.data), num(g.cw),
			num(g.cd), workload.Int(g.found))
	case 10:
		return g.call(c, payHistory, workload.Int(g.found), num(g.cd), num(g.cw), num(g.d), num(g.w), amount,
			workload.Bytes(g.history))
	case 11:
		return g.plain(c, commit)
	}
	return false, nil
}

// prependData writes the payment before what was noted of a customer with bad credit, and drops what is too long:
// clause 2.5.2.2.
func (g *generator) prependData(old []byte) {
	b := g.dataBuf[:0]
	for _, n := range [...]int64{g.found, int64(g.cd), int64(g.cw), int64(g.d), int64(g.w)} {
		b = strconv.AppendInt(b, n, 10)
		b = append(b, ' ')
	}
	b = append(b, g.amount...)
	b = append(b, ' ')
	g.data = append(b, first(old, maxData-len(b))...)
}

package tpcc

import "github.com/dyno-perf/dyno/internal/workload"

// recent is how many of the latest orders a stock level looks at: clause 2.8.2.2.
const recent = 20

// nextOfLevel: clause 2.8.2.
func (g *generator) nextOfLevel(c *workload.Call) (bool, error) {
	step := g.step
	g.step++
	switch step {
	case 0:
		return g.plain(c, begin)
	case 1:
		return g.call(c, levelDistrict, num(g.w), num(g.d))
	case 2:
		if g.rows == 0 {
			return g.missing("district")
		}
		next := g.number
		if g.byJoin {
			g.n = 0
			return g.call(c, levelJoin, num(g.w), num(g.d), workload.Int(next), workload.Int(next-recent),
				num(g.w), num(g.threshold))
		}
		return g.call(c, levelItems, num(g.w), num(g.d), workload.Int(next), workload.Int(next-recent))
	case 3:
		if !g.byJoin {
			g.n = min(g.rows, len(g.items))
		}
	}
	switch i := step - 3; {
	case i < g.n:
		return g.call(c, levelStock, num(g.w), workload.Int(int64(g.items[i])), num(g.threshold))
	case i == g.n:
		return g.plain(c, commit)
	}
	return false, nil
}

package tpcc

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

// generator is one terminal.
type generator struct {
	*program
	*rand.Rand
	c        constants
	terminal int
	op       *workload.Op
	before   int // kind of the operation before this one

	// What was drawn for the operation.
	kind       int
	set        int // of tables, from 0
	w, d       int // where the terminal stands
	cw, cd     int // where the customer is
	customer   int // by number, unless byName
	byName     bool
	last       []byte // of the customer's name
	amount     []byte // of a payment
	carrier    int    // of a delivery
	threshold  int    // of a stock level
	n          int    // lines
	lines      [maxLines]line
	allLocal   int
	lastBuf    [16]byte
	amountBuf  [16]byte
	historyBuf [32]byte

	// The attempt.
	step    int
	i       int // line, district or item that a loop is at
	want    int // statement whose answer comes
	rows    int // of that answer
	err     error
	args    [9]workload.Datum
	number  int64 // whatever the latest answer said
	order   int64
	found   int64 // customer's number
	price   int64 // of the item
	info    []byte
	sum     []byte
	history []byte
	bad     bool // the customer's credit
	data    []byte
	infoBuf [24]byte
	sumBuf  [24]byte
	dataBuf [maxData]byte
	items   [20 * maxLines]int32
}

// line is one of an order.
type line struct{ item, supply, quantity int }

// maxData is the length of c_data: clause 2.5.2.2.
const maxData = 500

func newGenerator(p *program, seed uint64, terminal int) *generator {
	return &generator{
		program: p, Rand: rand.New(rand.NewPCG(seed, uint64(terminal))),
		c: drawConstants(seed), terminal: terminal,
	}
}

// times of clause 5.2.5.7, by kind of operation: what a person needs to key in, and the mean of what they think
// afterwards.
var (
	keying = [...]time.Duration{
		newOrder: 18 * time.Second, payment: 3 * time.Second, orderStatus: 2 * time.Second,
		delivery: 2 * time.Second, stockLevel: 2 * time.Second, rolledBack: 18 * time.Second,
	}
	thinking = [...]time.Duration{
		newOrder: 12 * time.Second, payment: 12 * time.Second, orderStatus: 10 * time.Second,
		delivery: 5 * time.Second, stockLevel: 5 * time.Second, rolledBack: 12 * time.Second,
	}
)

// Begin draws the next transaction.
func (g *generator) Begin(op *workload.Op) {
	g.op = op
	g.set = g.IntN(g.sets)
	if g.think > 0 { // clause 2.4.1.1: a terminal is part of its warehouse
		g.w, g.d = g.terminal/districts%g.active+1, g.terminal%districts+1
	} else {
		g.w, g.d = between(g.Rand, 1, g.active), between(g.Rand, 1, districts)
	}
	switch x := g.IntN(100); { // clause 5.2.3
	case x < 45:
		g.kind = newOrder
		g.drawOrder()
	case x < 88:
		g.kind = payment
		g.drawPayment()
	case x < 92:
		g.kind = orderStatus
		g.cw, g.cd = g.w, g.d
		g.drawCustomer()
	case x < 96:
		g.kind = delivery
		g.carrier = between(g.Rand, 1, 10)
	default:
		g.kind = stockLevel
		g.threshold = between(g.Rand, 10, 20)
	}
	*op = workload.Op{Kind: g.kind}
	if g.think > 0 {
		// Clause 5.2.5.4: exponential, cut at ten times the mean.
		t := min(g.ExpFloat64(), 10) * float64(thinking[g.before])
		op.Think = time.Duration(g.think * (t + float64(keying[g.kind])))
	}
	g.before = g.kind
	g.Again()
}

// drawOrder draws an order: clause 2.4.1.
func (g *generator) drawOrder() {
	if g.IntN(100) == 0 {
		g.kind = rolledBack
	}
	g.cw, g.cd = g.w, g.d
	g.customer = uneven(g.Rand, 1023, g.c.customer, 1, customers)
	g.n = between(g.Rand, minLines, maxLines)
	g.allLocal = 1
	for i := range g.n {
		l := line{item: uneven(g.Rand, 8191, g.c.item, 1, items), supply: g.w, quantity: between(g.Rand, 1, 10)}
		if g.active > 1 && g.IntN(100) == 0 {
			l.supply, g.allLocal = g.other(), 0
		}
		g.lines[i] = l
	}
	if g.kind == rolledBack {
		g.lines[g.n-1].item = items + 1
	}
}

// drawPayment draws a payment: clause 2.5.1.
func (g *generator) drawPayment() {
	g.cw, g.cd = g.w, g.d
	if g.active > 1 && g.IntN(100) >= 85 {
		g.cw, g.cd = g.other(), between(g.Rand, 1, districts)
	}
	g.drawCustomer()
	g.amount = appendCents(g.amountBuf[:0], int64(between(g.Rand, 1_00, 5000_00)))
}

// drawCustomer draws a customer, in 60 of 100 by last name.
func (g *generator) drawCustomer() {
	g.byName = g.IntN(100) < 60
	if g.byName {
		g.last = appendLast(g.lastBuf[:0], uneven(g.Rand, 255, g.c.last, 0, 999))
	} else {
		g.customer = uneven(g.Rand, 1023, g.c.customer, 1, customers)
	}
}

// other returns a warehouse that is not the terminal's; there must be one.
func (g *generator) other() int {
	x := between(g.Rand, 1, g.active-1)
	if x >= g.w {
		x++
	}
	return x
}

// Again goes back to the first statement.
func (g *generator) Again() { g.step, g.i, g.rows, g.err = 0, 0, 0, nil }

// Next fills c with the next statement.
func (g *generator) Next(c *workload.Call) (bool, error) {
	if g.err != nil {
		return false, g.err
	}
	switch g.kind {
	case newOrder, rolledBack:
		return g.nextOfOrder(c)
	case payment:
		return g.nextOfPayment(c)
	case orderStatus:
		return g.nextOfStatus(c)
	case delivery:
		return g.nextOfDelivery(c)
	}
	return g.nextOfLevel(c)
}

// Row takes what a later statement needs.
func (g *generator) Row(row []workload.Datum) {
	g.rows++
	switch g.want {
	case noDistrict, payCount, statusCount, deliveryNext, deliveryCustomer, statusOrder, levelDistrict:
		g.number = g.int(row, 0)
	case noItem:
		var ok bool
		if g.price, ok = cents(row[0]); !ok {
			g.odd(row[0])
		}
	case noStock:
		g.number = g.int(row, 0)
		g.info = append(g.infoBuf[:0], first(row[2].Raw(), len(g.infoBuf))...)
	case payWarehouseName:
		g.history = append(append(g.historyBuf[:0], first(row[0].Raw(), 10)...), "    "...)
	case payDistrictName:
		g.history = append(g.history, first(row[0].Raw(), 10)...)
	case payByName, statusByName:
		// Clause 2.5.2.2: the one in the middle, rounded up.
		if int64(g.rows) <= (g.number+1)/2 {
			g.found = g.int(row, 0)
		}
	case payCustomer:
		g.bad = string(row[0].Raw()) == "BC"
	case payData:
		g.prependData(row[0].Raw())
	case deliverySum:
		g.sum = append(g.sumBuf[:0], first(row[0].Raw(), len(g.sumBuf))...)
	case levelItems:
		if g.rows <= len(g.items) {
			g.items[g.rows-1] = int32(g.int(row, 0))
		}
	}
}

func first(b []byte, n int) []byte { return b[:min(len(b), n)] }

func (g *generator) int(row []workload.Datum, i int) int64 {
	n, err := row[i].Int()
	if err != nil {
		g.odd(row[i])
	}
	return n
}

// odd notes an answer that tables of this workload do not give; the next call of Next tells.
func (g *generator) odd(d workload.Datum) {
	g.err = fmt.Errorf("%s gives %s: the tables are not as prepare makes them", texts[g.want].Name, d)
}

// missing tells of an answer without the row that must be there.
func (g *generator) missing(who string) (bool, error) {
	return false, fmt.Errorf("%s of table set %d finds no %s: the tables are not as prepare makes them with scale=%d",
		texts[g.want].Name, g.set+1, who, g.scale)
}

// plain fills c with a statement that belongs to no set.
func (g *generator) plain(c *workload.Call, statement int) (bool, error) {
	g.rows = 0
	*c = workload.Call{Statement: statement}
	return true, nil
}

// call fills c with a statement of the set.
func (g *generator) call(c *workload.Call, statement int, args ...workload.Datum) (bool, error) {
	g.want, g.rows = statement, 0
	n := copy(g.args[:], args)
	*c = workload.Call{Statement: common + g.set*g.of + g.index[statement], Args: g.args[:n]}
	return true, nil
}

func num(n int) workload.Datum { return workload.Int(int64(n)) }

package tpcc

import (
	"math/rand/v2"

	"dyno/internal/workload"
)

// populated is the moment that prepare writes for every date: rows depend on the seed alone.
const populated = "2020-01-01 00:00:00"

// original marks one in ten items and stocks: clause 4.3.3.1.
const original = "ORIGINAL"

// filler makes the rows of one table of a set. Every goroutine has its own.
type filler struct {
	seed     uint64
	set      uint64
	numbered bool // the first column is a surrogate key

	pcg *rand.PCG
	r   *rand.Rand
	row []workload.Datum
	at  int    // columns of row that are set
	buf []byte // texts of the row
	out func([]workload.Datum)
}

// The tables, as part of what decides a row.
const (
	ofWarehouse = iota
	ofDistrict
	ofCustomer
	ofHistory
	ofOrder
	ofLine
	ofStock
	ofItem
)

// rows returns the source of rows of a table: each sets the columns of one row, or of several, and emits them.
func (f *filler) rows(table uint64, columns int, each func(n int)) func(int, func([]workload.Datum)) {
	if f.numbered {
		columns++
	}
	f.pcg = rand.NewPCG(0, 0)
	f.r = rand.New(f.pcg)
	f.row = make([]workload.Datum, columns)
	f.buf = make([]byte, 0, 1024) // never outgrown: a row points into it
	return func(n int, emit func([]workload.Datum)) {
		f.pcg.Seed(f.seed, f.stream(table, n))
		f.out = emit
		f.begin()
		each(n)
	}
}

func (f *filler) stream(table uint64, n int) uint64 { return f.set<<48 | table<<40 | uint64(n) }

func (f *filler) begin() { f.at, f.buf = 0, f.buf[:0] }

func (f *filler) emit() { f.out(f.row) }

func (f *filler) put(d workload.Datum) {
	f.row[f.at] = d
	f.at++
}

func (f *filler) int(n int) { f.put(workload.Int(int64(n))) }

func (f *filler) null() { f.put(workload.Datum{}) }

// since puts what was appended to buf from an earlier length on.
func (f *filler) since(from int) { f.put(workload.Bytes(f.buf[from:len(f.buf):len(f.buf)])) }

func (f *filler) string(s string) {
	from := len(f.buf)
	f.buf = append(f.buf, s...)
	f.since(from)
}

func (f *filler) room(n int) []byte {
	from := len(f.buf)
	f.buf = f.buf[:from+n]
	return f.buf[from:]
}

// text puts low to high random letters.
func (f *filler) text(low, high int) {
	from := len(f.buf)
	text(f.r, f.room(between(f.r, low, high)))
	f.since(from)
}

func (f *filler) digits(n int) {
	from := len(f.buf)
	digits(f.r, f.room(n))
	f.since(from)
}

func (f *filler) cents(n int) {
	from := len(f.buf)
	f.buf = appendCents(f.buf, int64(n))
	f.since(from)
}

// data puts a text of 26 to 50 letters, one in ten with "ORIGINAL" somewhere.
func (f *filler) data() {
	from := len(f.buf)
	b := text(f.r, f.room(between(f.r, 26, 50)))
	if f.r.IntN(10) == 0 {
		copy(b[f.r.IntN(len(b)-len(original)+1):], original)
	}
	f.since(from)
}

// address puts two streets, a city, a state and a zip code: clause 4.3.2.7.
func (f *filler) address() {
	f.text(10, 20)
	f.text(10, 20)
	f.text(10, 20)
	from := len(f.buf)
	for range 2 {
		f.buf = append(f.buf, 'A'+byte(f.r.IntN(26)))
	}
	f.since(from)
	from = len(f.buf)
	digits(f.r, f.room(4))
	f.buf = append(f.buf, "11111"...)
	f.since(from)
}

func (f *filler) warehouse() func(int, func([]workload.Datum)) {
	return f.rows(ofWarehouse, 9, func(n int) {
		f.int(n)
		f.text(6, 10)
		f.address()
		f.cents(between(f.r, 0, 20))
		f.cents(300_000_00)
		f.emit()
	})
}

func (f *filler) district() func(int, func([]workload.Datum)) {
	return f.rows(ofDistrict, 11, func(n int) {
		f.int((n-1)%districts + 1)
		f.int((n-1)/districts + 1)
		f.text(6, 10)
		f.address()
		f.cents(between(f.r, 0, 20))
		f.cents(30_000_00)
		f.int(customers + 1)
		f.emit()
	})
}

// place splits the number of a row of which every district has the same number.
func place(n, each int) (w, d, i int) {
	n--
	return n/(each*districts) + 1, n/each%districts + 1, n%each + 1
}

func (f *filler) customer() func(int, func([]workload.Datum)) {
	return f.rows(ofCustomer, 21, func(n int) {
		w, d, c := place(n, customers)
		f.int(c)
		f.int(d)
		f.int(w)
		f.text(8, 16)
		f.string("OE")
		last := c - 1
		if last >= 1000 {
			last = uneven(f.r, 255, loadLast, 0, 999)
		}
		from := len(f.buf)
		f.buf = appendLast(f.buf, last)
		f.since(from)
		f.address()
		f.digits(16)
		f.string(populated)
		if f.r.IntN(10) == 0 {
			f.string("BC")
		} else {
			f.string("GC")
		}
		f.int(50_000)
		f.cents(between(f.r, 0, 50))
		f.cents(-10_00)
		f.cents(10_00)
		f.int(1)
		f.int(0)
		f.text(300, 500)
		f.emit()
	})
}

func (f *filler) history() func(int, func([]workload.Datum)) {
	return f.rows(ofHistory, 8, func(n int) {
		w, d, c := place(n, customers)
		if f.numbered {
			f.int(n)
		}
		f.int(c)
		f.int(d)
		f.int(w)
		f.int(d)
		f.int(w)
		f.string(populated)
		f.cents(10_00)
		f.text(12, 24)
		f.emit()
	})
}

// lineCount returns the number of lines of the nth order, which its row and its lines must agree on.
func (f *filler) lineCount(n int) int {
	return minLines + int(mix(f.seed^mix(f.stream(ofOrder, n)))%(maxLines-minLines+1))
}

func (f *filler) order() func(int, func([]workload.Datum)) {
	return f.rows(ofOrder, 8, func(n int) {
		w, d, o := place(n, customers)
		f.int(o)
		f.int(d)
		f.int(w)
		// Every customer of the district has one order, in no order.
		f.int(permuted(mix(f.seed^mix(f.stream(ofCustomer, (n-1)/customers))), o-1, customers) + 1)
		f.string(populated)
		if o <= delivered {
			f.int(between(f.r, 1, 10))
		} else {
			f.null()
		}
		f.int(f.lineCount(n))
		f.int(1)
		f.emit()
	})
}

func (f *filler) newOrder() func(int, func([]workload.Datum)) {
	return f.rows(ofOrder, 3, func(n int) {
		w, d, i := place(n, customers-delivered)
		if f.numbered {
			f.int(n)
		}
		f.int(delivered + i)
		f.int(d)
		f.int(w)
		f.emit()
	})
}

func (f *filler) orderLines() func(int, func([]workload.Datum)) {
	return f.rows(ofLine, 10, func(n int) {
		w, d, o := place(n, customers)
		for line := 1; line <= f.lineCount(n); line++ {
			f.begin()
			if f.numbered {
				f.int((n-1)*maxLines + line)
			}
			f.int(o)
			f.int(d)
			f.int(w)
			f.int(line)
			f.int(between(f.r, 1, items))
			f.int(w)
			if o <= delivered {
				f.string(populated)
			} else {
				f.null()
			}
			f.int(5)
			if o <= delivered {
				f.cents(0)
			} else {
				f.cents(between(f.r, 1, 9999_99))
			}
			f.text(24, 24)
			f.emit()
		}
	})
}

func (f *filler) stock() func(int, func([]workload.Datum)) {
	return f.rows(ofStock, 17, func(n int) {
		f.int((n-1)%items + 1)
		f.int((n-1)/items + 1)
		f.int(between(f.r, 10, 100))
		for range districts {
			f.text(24, 24)
		}
		f.int(0)
		f.int(0)
		f.int(0)
		f.data()
		f.emit()
	})
}

func (f *filler) item() func(int, func([]workload.Datum)) {
	return f.rows(ofItem, 5, func(n int) {
		f.int(n)
		f.int(between(f.r, 1, 10_000))
		f.text(14, 24)
		f.cents(between(f.r, 1_00, 100_00))
		f.data()
		f.emit()
	})
}

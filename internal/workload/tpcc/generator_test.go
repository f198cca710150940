package tpcc

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

func build(t testing.TB, options ...string) *workload.Plan {
	t.Helper()
	given := map[string]string{}
	for _, o := range options {
		k, v, _ := strings.Cut(o, "=")
		given[k] = v
	}
	p, err := Workload{}.Build(given)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// server answers a generator's statements as the tables would after prepare, without tables: it knows no more than what
// the next statement needs.
type server struct {
	plan    *workload.Plan
	answers map[int][]workload.Datum // by statement: the row that it gives
	many    map[int]int              // how many such rows; 1 where it is absent
	none    map[int]bool             // statements that find nothing
}

func answering(p *workload.Plan) *server {
	s := &server{plan: p, answers: map[int][]workload.Datum{}, many: map[int]int{}, none: map[int]bool{}}
	str := workload.String
	for i, st := range p.Statements {
		if !st.Rows {
			continue
		}
		row := []workload.Datum{workload.Int(3001), str("0.10")}
		switch _, what, _ := strings.Cut(st.Name, ": "); what {
		case "item":
			row = []workload.Datum{str("12.34"), str("name"), str("data")}
		case "stock":
			row = []workload.Datum{workload.Int(50), str("data"), str(strings.Repeat("x", 24))}
		case "warehouse", "district":
			if strings.HasPrefix(st.Name, "payment") {
				row = []workload.Datum{str("name" + what), {}}
			}
		case "customer":
			row = []workload.Datum{str("BC"), str("first")}
		case "data of the customer":
			row = []workload.Datum{str(strings.Repeat("o", 500))}
		case "sum of lines":
			row = []workload.Datum{str("123456.78")}
		case "count customers":
			row = []workload.Datum{workload.Int(4)}
		case "customers by name":
			s.many[i] = 4
		case "items":
			s.many[i] = 7
		}
		s.answers[i] = row
	}
	return s
}

// answer hands the rows of a statement to a generator.
func (s *server) answer(g workload.Generator, c *workload.Call) {
	if c.Statement >= common && strings.HasSuffix(s.plan.Statements[c.Statement].Name, ": item") {
		if n, _ := c.Args[0].Int(); n > items {
			return
		}
	}
	row := s.answers[c.Statement]
	if row == nil || s.none[c.Statement] {
		return
	}
	for range max(1, s.many[c.Statement]) {
		g.Row(row)
	}
}

// perform runs one operation and returns its statements as texts.
func (s *server) perform(t testing.TB, g workload.Generator, op *workload.Op) (sent []string) {
	t.Helper()
	var c workload.Call
	for {
		more, err := g.Next(&c)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return sent
		}
		st := &s.plan.Statements[c.Statement]
		text, err := st.AppendText(nil, c.Args)
		if err != nil {
			t.Fatalf("%s of %s: %v", st.Name, s.plan.Operations[op.Kind], err)
		}
		sent = append(sent, string(text))
		s.answer(g, &c)
	}
}

// TestMix counts what many operations draw, against the shares of the specification.
func TestMix(t *testing.T) {
	p := build(t, "scale=20")
	s := answering(p)
	g := p.Generator(1, 0)
	const n = 15_000
	kinds := map[string]float64{}
	var lines, remoteLines, payments, remote, byName, customersRead float64
	var op workload.Op
	for range n {
		g.Begin(&op)
		kinds[p.Operations[op.Kind]]++
		x := g.(*generator)
		for _, q := range s.perform(t, g, &op) {
			switch {
			case strings.HasPrefix(q, "INSERT INTO order_line"):
				lines++
			case strings.HasPrefix(q, "UPDATE stock") && strings.Contains(q, "s_remote_cnt+1"):
				remoteLines++
			case strings.HasPrefix(q, "INSERT INTO history"):
				payments++
				if x.cw != x.w {
					remote++
				}
			case strings.HasPrefix(q, "SELECT COUNT(c_id)"):
				byName++
			}
		}
		if op.Kind == payment || op.Kind == orderStatus {
			customersRead++
		}
	}
	f := func(what string, got, of, want float64) {
		t.Helper()
		if d := 4 * math.Sqrt(want*(1-want)/of); math.Abs(got/of-want) > d {
			t.Errorf("%s: %.4f, want %.4f ± %.4f", what, got/of, want, d)
		}
	}
	f("new orders", kinds["new_order"]+kinds["new_order_rolled_back"], n, 0.45)
	f("payments", kinds["payment"], n, 0.43)
	f("order statuses", kinds["order_status"], n, 0.04)
	f("deliveries", kinds["delivery"], n, 0.04)
	f("stock levels", kinds["stock_level"], n, 0.04)
	f("rolled back", kinds["new_order_rolled_back"], 0.45*n, 0.01)
	f("remote lines", remoteLines, lines, 0.01)
	f("remote payments", remote, payments, 0.15)
	f("customers by name", byName, customersRead, 0.60)
	if per := lines / (kinds["new_order"] + kinds["new_order_rolled_back"]); per < 9.8 || per > 10.2 {
		t.Errorf("%.2f lines to an order, want about 10", per)
	}
}

// TestTransactions pins the statements of each transaction.
func TestTransactions(t *testing.T) {
	p := build(t, "scale=2")
	s := answering(p)
	seen := map[string]bool{}
	g := p.Generator(5, 0)
	var op workload.Op
	for i := 0; len(seen) < len(operations) && i < 100_000; i++ {
		g.Begin(&op)
		kind := p.Operations[op.Kind]
		if seen[kind] {
			continue
		}
		seen[kind] = true
		sent := s.perform(t, g, &op)
		x := g.(*generator)
		end, want := "COMMIT", 0
		switch op.Kind {
		case newOrder:
			want = 6 + 4*x.n + 1
			if op.Mark != [4]int64{int64(x.w), int64(x.d), 3001, 1} {
				t.Errorf("mark %v", op.Mark)
			}
		case rolledBack:
			end, want = "ROLLBACK", 6+4*(x.n-1)+2
			if op.Mark != [4]int64{} {
				t.Errorf("an order that was rolled back has mark %v", op.Mark)
			}
		case payment:
			want = 10 // with a customer of bad credit
			if x.byName {
				want += 2
			}
			found := false
			for _, q := range sent {
				if strings.Contains(q, "c_data=") {
					found = true
					if i := strings.Index(q, "c_data='"); strings.Index(q[i+8:], "'") != maxData {
						t.Errorf("data are not cut at %d: %s", maxData, q)
					}
				}
			}
			if !found {
				t.Error("no data are written for a customer with bad credit")
			}
			if h := sent[len(sent)-2]; !strings.Contains(h, "'namewareho    namedistri'") {
				t.Errorf("history is %s", h)
			}
		case orderStatus:
			want = 5
			if x.byName {
				want++
			}
		case delivery:
			want = 2 + 7*districts
		case stockLevel:
			want = 4 + 7
		}
		if len(sent) != want || sent[0] != "BEGIN" || sent[len(sent)-1] != end {
			t.Errorf("%s: %d statements, want %d with %s last:\n%s", kind, len(sent), want, end,
				strings.Join(sent, "\n"))
		}
	}
	if len(seen) != len(operations) {
		t.Errorf("only %v came up", seen)
	}
}

// TestAgainRepeats breaks operations off after every statement and runs them again: the same texts must be sent.
func TestAgainRepeats(t *testing.T) {
	p := build(t, "scale=3", "tables=2")
	s := answering(p)
	g := p.Generator(2, 1)
	var op workload.Op
	for range 100 {
		g.Begin(&op)
		want := s.perform(t, g, &op)
		mark := op.Mark
		for cut := 0; cut < len(want); cut += 1 + cut/3 {
			g.Again()
			var c workload.Call
			for range cut {
				if _, err := g.Next(&c); err != nil {
					t.Fatal(err)
				}
				s.answer(g, &c)
			}
			g.Again()
			if got := s.perform(t, g, &op); fmt.Sprint(got) != fmt.Sprint(want) || op.Mark != mark {
				t.Fatalf("%s again after %d statements:\n%s\nfirst:\n%s", p.Operations[op.Kind], cut,
					strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// TestEmptyQueues delivers where some districts or all have no new order.
func TestEmptyQueues(t *testing.T) {
	p := build(t, "scale=1")
	s := answering(p)
	g := p.Generator(3, 0).(*generator)
	var op workload.Op
	for g.Begin(&op); op.Kind != delivery; g.Begin(&op) {
	}
	for i, st := range p.Statements {
		if st.Name == texts[deliveryNext].Name {
			s.none[i] = true
		}
	}
	if sent := s.perform(t, g, &op); len(sent) != 2+districts {
		t.Errorf("%d statements where nothing is to deliver:\n%s", len(sent), strings.Join(sent, "\n"))
	}
	g.Again()
	var c workload.Call
	n := 0
	for {
		more, err := g.Next(&c)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		n++
		s.none[c.Statement] = p.Statements[c.Statement].Name == texts[deliveryNext].Name && g.i%2 == 0
		s.answer(g, &c)
	}
	if n != 2+districts+districts/2*6 {
		t.Errorf("%d statements where every other district has nothing to deliver", n)
	}
}

// TestOddAnswers gives a generator answers that the tables cannot give: it must say so and not go on.
func TestOddAnswers(t *testing.T) {
	p := build(t, "scale=2")
	needed := 0
	for i, st := range p.Statements {
		if !st.Rows || st.Name == texts[deliveryNext].Name || st.Name == texts[levelItems].Name ||
			st.Name == texts[levelStock].Name || st.Name == texts[statusLines].Name {
			continue // these may find nothing
		}
		if st.Name == texts[payCount].Name || st.Name == texts[statusCount].Name {
			continue // a count always gives a row; no name is told by the next statement
		}
		needed++
		f := func(change func(s *server)) {
			t.Helper()
			s := answering(p)
			change(s)
			g := p.Generator(4, 0)
			var op workload.Op
			var c workload.Call
			for range 3000 {
				g.Begin(&op)
				for {
					more, err := g.Next(&c)
					if err != nil {
						if !strings.Contains(err.Error(), st.Name) || !strings.Contains(err.Error(), "prepare") {
							t.Errorf("%s: %v", st.Name, err)
						}
						return
					}
					if !more {
						break
					}
					s.answer(g, &c)
				}
			}
			t.Errorf("%s: an answer that cannot be is taken", st.Name)
		}
		f(func(s *server) { s.none[i] = true })
	}
	if needed < 12 {
		t.Errorf("only %d statements tried", needed)
	}
}

func TestBeginAndNextAllocateNothing(t *testing.T) {
	for _, o := range []string{"stock-level=items", "stock-level=join", "think=0.5"} {
		p := build(t, "scale=5", "tables=3", o)
		s := answering(p)
		g := p.Generator(1, 0)
		var op workload.Op
		var c workload.Call
		if n := testing.AllocsPerRun(1000, func() {
			g.Begin(&op)
			for {
				more, err := g.Next(&c)
				if err != nil {
					t.Fatal(err)
				}
				if !more {
					return
				}
				s.answer(g, &c)
			}
		}); n != 0 {
			t.Errorf("%s: an operation allocates %v times", o, n)
		}
	}
}

func TestActiveWarehouses(t *testing.T) {
	f := func(options []string, terminal int, want map[int]bool) {
		t.Helper()
		p := build(t, options...)
		g := p.Generator(1, terminal).(*generator)
		got := map[int]bool{}
		var op workload.Op
		for range 3000 {
			g.Begin(&op)
			got[g.w] = true
			switch op.Kind {
			case payment, orderStatus:
				got[g.cw] = true
			case newOrder:
				for _, l := range g.lines[:g.n] {
					got[l.supply] = true
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: warehouses %v, want %v", options, got, want)
		}
	}
	f([]string{"scale=1"}, 0, map[int]bool{1: true})
	f([]string{"scale=9", "active-warehouses=1"}, 0, map[int]bool{1: true})
	f([]string{"scale=9", "active-warehouses=3"}, 7, map[int]bool{1: true, 2: true, 3: true})
	f([]string{"scale=3"}, 7, map[int]bool{1: true, 2: true, 3: true})
	f([]string{"scale=1", "think=on"}, 25, map[int]bool{1: true})
}

// TestThink compares the mean pause of each kind of operation with the specification's, and sees that a terminal stays
// where it is.
func TestThink(t *testing.T) {
	p := build(t, "scale=4", "think=0.1")
	g := p.Generator(1, 37).(*generator)
	var op workload.Op
	var sum, want time.Duration
	before := newOrder
	const n = 10_000
	for range n {
		g.Begin(&op)
		if g.w != 4 || g.d != 8 {
			t.Fatalf("terminal 37 is at warehouse %d, district %d", g.w, g.d)
		}
		if op.Think < keying[op.Kind]/10 || op.Think > (keying[op.Kind]+10*thinking[before])/10 {
			t.Fatalf("%v before %s after %s", op.Think, operations[op.Kind], operations[before])
		}
		sum += op.Think
		want += (keying[op.Kind] + thinking[before]) / 10
		before = op.Kind
	}
	if d := float64(sum-want) / float64(want); math.Abs(d) > 0.04 {
		t.Errorf("pauses are %v on average, want %v", sum/n, want/n)
	}
	build(t, "think=0").Generator(1, 0).Begin(&op)
	if op.Think != 0 {
		t.Errorf("a pause of %v without think times", op.Think)
	}
}

func TestSameSeedSameOperations(t *testing.T) {
	p := build(t, "scale=3")
	f := func(seed uint64, terminal int) string {
		s := answering(p)
		g := p.Generator(seed, terminal)
		var b bytes.Buffer
		var op workload.Op
		for range 50 {
			g.Begin(&op)
			fmt.Fprintln(&b, op.Kind, s.perform(t, g, &op))
		}
		return b.String()
	}
	first := f(1, 2)
	if again := f(1, 2); again != first {
		t.Error("the same seed gives other operations")
	}
	if first == f(1, 3) || first == f(2, 2) {
		t.Error("another terminal or seed gives the same operations")
	}
}

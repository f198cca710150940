package workload

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestBulkInsert(t *testing.T) {
	p := build(t, BulkInsert{}, map[string]string{"threads": "3"})
	if len(p.Tables) != 3 || p.Tables[2].Name != "sbtest3" || p.Tables[2].Rows != 0 {
		t.Fatalf("tables %+v", p.Tables)
	}
	g := p.Generator(1, 2)
	// next returns the first and the last row of an INSERT, and how long its text is.
	next := func(wantFirst int64) (last int64) {
		t.Helper()
		var c Call
		if more, err := g.Next(&c); !more || err != nil || c.Text == nil ||
			p.Statements[c.Statement].SQL != "INSERT INTO sbtest3 VALUES(?,?)" {
			t.Fatalf("%v %v: %+v", more, err, c)
		}
		text := string(c.Text)
		rows := strings.Count(text, "(")
		last = wantFirst + int64(rows) - 1
		begin := fmt.Sprintf("INSERT INTO sbtest3 VALUES(%d,%d),(%d,%d)", wantFirst, wantFirst,
			wantFirst+1, wantFirst+1)
		end := fmt.Sprintf("),(%d,%d)", last, last)
		if !strings.HasPrefix(text, begin) || !strings.HasSuffix(text, end) || len(text) > bulkBytes ||
			len(text) < bulkBytes-longestRow {
			t.Fatalf("%d bytes: %.60s … %s", len(text), text, text[len(text)-30:])
		}
		return last
	}
	ask := func(largest Datum) {
		t.Helper()
		var c Call
		if more, err := g.Next(&c); !more || err != nil || p.Statements[c.Statement].SQL != "SELECT MAX(id) FROM "+
			"sbtest3" {
			t.Fatalf("%v %v: %+v", more, err, c)
		}
		g.Row([]Datum{largest})
	}
	end := func() {
		t.Helper()
		var c Call
		if more, err := g.Next(&c); more || err != nil {
			t.Fatalf("another statement: %+v, %v", c, err)
		}
	}
	var op Op
	g.Begin(&op)
	ask(Datum{}) // an empty table
	last := next(1)
	end()
	g.Begin(&op)
	last = next(last + 1)
	// The answer was lost, and half of it is in.
	g.Again()
	ask(Int(last - 7))
	last = next(last - 6)
	end()
	g.Begin(&op)
	next(last + 1)
	end()

	// What earlier runs have left, as the text protocol writes it.
	g = p.Generator(1, 2)
	g.Begin(&op)
	ask(String("1000000"))
	next(1000001)

	g = p.Generator(1, 2)
	g.Begin(&op)
	ask(Int(math.MaxInt32 - 5))
	var c Call
	if _, err := g.Next(&c); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("beyond the largest id: %v", err)
	}
	g = p.Generator(1, 3)
	g.Begin(&op)
	if _, err := g.Next(&c); err == nil || !strings.Contains(err.Error(), "same --threads") {
		t.Errorf("a session without a table: %v", err)
	}
	refuses(t, BulkInsert{}, map[string]string{"threads": "0"}, "from 1")
	refuses(t, BulkInsert{}, map[string]string{"tables": "2"}, "unknown")
}

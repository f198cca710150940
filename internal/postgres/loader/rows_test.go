package loader

import (
	"io"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// texts is a workload whose table holds texts, one a row; numbers stand for as many rows as they say.
type texts []string

func (texts) Name() string                                     { return "texts" }
func (texts) Title() string                                    { return "texts of all kinds" }
func (texts) Options() []workload.Option                       { return nil }
func (w texts) In(workload.Dialect) (workload.Workload, error) { return w, nil }
func (w texts) Build(map[string]string) (*workload.Plan, error) {
	return &workload.Plan{Workload: "texts", Schema: "postgres", Tables: []workload.Table{{
		Name: "t", Create: "CREATE TABLE t (n INT, b TEXT, f FLOAT8)", Rows: len(w), Columns: []string{"n", "b", "f"},
		Fill: func(uint64) func(int, func([]workload.Datum)) {
			return func(n int, emit func([]workload.Datum)) {
				for range n % 3 {
					emit([]workload.Datum{workload.Int(int64(-n)), workload.String(w[n-1]), {}})
				}
			}
		},
	}}}, nil
}

// TestTextsArriveAsTheyAre loads what COPY has signs of its own for.
func TestTextsArriveAsTheyAre(t *testing.T) {
	s := pgserver.Start(t, "17")
	w := texts{"", `\N`, "a\tb\nc\rd\\e", `\.`, "grüße ❤", "'\"", "\x01\x7f", strings.Repeat("x\\", 100_000)}
	x := open(t, s)
	if err := x.Prepare(t.Context(), load.Data{Workload: w, Threads: 2}, nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range w {
		var n int
		err := s.Conn(t, "postgres").
			QueryRow(t.Context(), "SELECT count(*) FROM t WHERE n = $1 AND b = $2 AND f IS NULL",
				-i-1, want).
			Scan(&n)
		if err != nil || n != (i+1)%3 {
			t.Errorf("%d rows of %.20q, %v", n, want, err)
		}
	}
	if n := s.Value(t, "postgres", "SELECT count(*) FROM t"); n != "9" {
		t.Errorf("%s rows", n)
	}
	err := x.Prepare(t.Context(), load.Data{Workload: texts{"a\x00b"}, Force: true}, nil)
	if err == nil || !strings.Contains(err.Error(), "row 1 has a zero byte") ||
		!strings.Contains(err.Error(), "dropped again") {
		t.Errorf("a zero byte: %v", err)
	}
}

func TestRowsOfNumbers(t *testing.T) {
	r := rows{next: 1, last: 2, made: func(int) {}, fill: func(n int, emit func([]workload.Datum)) {
		emit([]workload.Datum{workload.Uint(1 << 63), workload.Float(-1.5e300), workload.Int(int64(-n))})
	}}
	b, err := io.ReadAll(&r)
	if err != nil || string(b) != "9223372036854775808\t-1.5e+300\t-1\n9223372036854775808\t-1.5e+300\t-2\n" {
		t.Errorf("%q, %v", b, err)
	}
}

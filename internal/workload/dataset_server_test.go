package workload

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

// TestDatasetsOnServers makes the tables on real servers, in the forms that compression is measured in, and runs each
// operation: the server takes every row, finds full ranges and the rows to update.
func TestDatasetsOnServers(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE x")
			db := s.DB(t, "x")
			exec := func(q string) int64 {
				t.Helper()
				r, err := db.Exec(q)
				if err != nil {
					t.Fatalf("%.200s: %v", q, err)
				}
				n, _ := r.RowsAffected()
				return n
			}
			f := func(o map[string]string) {
				t.Helper()
				for _, d := range datasets {
					tb := build(t, d[1], o).Tables[0]
					exec(tb.Create)
					fill := tb.Fill(1)
					for n := 1; n <= tb.Rows; n++ {
						fill(n, func(row []Datum) {
							q := []byte("INSERT INTO " + tb.Name + " (" + joined(tb.Columns) + ") VALUES ")
							for i, d := range row {
								q = d.AppendLiteral(append(q, "(,"[min(i, 1)]))
							}
							exec(string(append(q, ')')))
						})
					}
					for _, q := range tb.After {
						exec(q)
					}
					for op, w := range d {
						p := build(t, w, o)
						g := p.Generator(1, 0)
						for range 3 {
							for _, c := range calls(t, g) {
								q := string(c.Text)
								if c.Text == nil {
									b, err := p.Statements[c.Statement].AppendText(nil, c.Args)
									if err != nil {
										t.Fatal(err)
									}
									q = string(b)
								}
								if dataOperation(op) == dataSelect {
									var n int
									if err := db.QueryRow("SELECT COUNT(*) FROM (" + q + ") x").Scan(&n); err != nil ||
										n != 20 {
										t.Errorf("%s finds %d rows of 20, %v", q, n, err)
									}
								} else if n, want := exec(q), map[dataOperation]int64{
									dataLoad:   30,
									dataUpdate: 1,
								}[dataOperation(op)]; n != want {
									t.Errorf("%.200s changes %d rows, want %d", q, n, want)
								}
							}
						}
					}
					var n int
					if err := db.QueryRow("SELECT COUNT(*) FROM " + tb.Name).Scan(&n); err != nil || n != tb.Rows+3*30 {
						t.Errorf("%s has %d rows, %v; want %d", tb.Name, n, err, tb.Rows+3*30)
					}
					exec("DROP TABLE " + tb.Name)
				}
			}
			given := func(more ...string) map[string]string {
				o := map[string]string{"table-size": "50", "range-size": "20", "rows-per-insert": "30"}
				for _, m := range more {
					k, v, _ := strings.Cut(m, "=")
					o[k] = v
				}
				return o
			}
			f(given())
			f(given("create-table-options=ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4"))
			f(given("mysql-storage-engine=myisam", "create-secondary=off"))
		})
	}
}

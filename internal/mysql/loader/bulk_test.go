package loader

import (
	"fmt"
	"math"
	"testing"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// awkward is a workload whose values are hard to bring over.
type awkward struct {
	create string
	rows   int
	values func(n int, emit func([]workload.Datum))
	cols   []string
}

func (awkward) Name() string               { return "awkward" }
func (awkward) Title() string              { return "values that are hard to bring over" }
func (awkward) Options() []workload.Option { return nil }

func (a awkward) Build(given map[string]string) (*workload.Plan, error) {
	return &workload.Plan{
		Workload: "awkward", Schema: given["mysql-db"], Operations: []string{"none"},
		Tables: []workload.Table{{
			Name: "odd", Create: a.create, Rows: a.rows, Columns: a.cols,
			Fill: func(uint64) func(int, func([]workload.Datum)) { return a.values },
		}},
	}, nil
}

// TestBothWaysGiveTheSameRows loads the same values by LOAD DATA and by INSERT, and compares them with what was sent.
func TestBothWaysGiveTheSameRows(t *testing.T) {
	flavors := map[string]string{"local_infile=ON": "stream", "local_infile=OFF": "insert"}
	sums := map[string]map[string]string{}
	for _, flavor := range servers.Flavors {
		for setting, how := range flavors {
			s := servers.Start(t, flavor, setting)
			tg := open(t, s)
			f := func(name, create string, cols []string, rows int, values func(n int, emit func([]workload.Datum)),
				want int, check string,
			) {
				t.Helper()
				w := awkward{create: create, rows: rows, values: values, cols: cols}
				before := s.Status(t, "Com_load")
				if err := on(tg).Prepare(t.Context(), load.Data{
					Workload: w, Options: map[string]string{"mysql-db": name},
					Threads: 2,
				}, nil); err != nil {
					t.Errorf("%s, %s, %s: %v", flavor, how, name, err)
					return
				}
				streamed := s.Status(t, "Com_load") > before
				if how == "insert" && streamed {
					t.Errorf("%s, %s: LOAD DATA is not allowed and was used", flavor, name)
				}
				var n int
				var got string
				if err := s.DB(t, "").QueryRow("SELECT COUNT(*), COALESCE("+check+", '') FROM "+name+".odd").
					Scan(&n, &got); err != nil {
					t.Fatal(err)
				}
				if n != want {
					t.Errorf("%s, %s, %s: %d rows, want %d", flavor, how, name, n, want)
				}
				key := flavor + " " + name
				if sums[key] == nil {
					sums[key] = map[string]string{}
				}
				sums[key][how] = got + fmt.Sprint(" rows ", n)
			}
			crc := func(cols string) string { return "BIT_XOR(CRC32(CONCAT_WS('|', " + cols + ")))" }
			texts := []string{
				"", "a", "tab\there", "line\nbreak", `back\slash`, `\N`, `\`, "it's", `"q"`,
				"nul\x00l", "\r\n", "x\x1ay",
			}
			f("ascii", "CREATE TABLE odd (id INT PRIMARY KEY, t VARCHAR(50), n BIGINT UNSIGNED, f DOUBLE)",
				[]string{"id", "t", "n", "f"}, len(texts),
				func(n int, emit func([]workload.Datum)) {
					emit([]workload.Datum{
						workload.Int(int64(n)), workload.String(texts[n-1]),
						workload.Uint(math.MaxUint64 - uint64(n)), workload.Float(1 / float64(n) * 1e-7),
					})
				}, len(texts), crc("id, HEX(t), n, f"))
			f("nulls", "CREATE TABLE odd (id INT PRIMARY KEY, t VARCHAR(50), d DATETIME, m DECIMAL(12,2))",
				[]string{"id", "t", "d", "m"}, 3,
				func(n int, emit func([]workload.Datum)) {
					emit([]workload.Datum{
						workload.Int(int64(n)),
						{},
						workload.String("2024-02-29 12:00:01"),
						workload.String("-12345.67"),
					})
				}, 3, crc("id, ISNULL(t), d, m"))
			f("unicode", "CREATE TABLE odd (id INT PRIMARY KEY, t VARCHAR(50)) CHARACTER SET utf8mb4",
				[]string{"id", "t"}, 40_000,
				func(n int, emit func([]workload.Datum)) {
					text := "plain"
					if n > 30_000 { // the stream of ASCII has begun
						text = "Größe 😀 \t"
					}
					emit([]workload.Datum{workload.Int(int64(n)), workload.String(text)})
				}, 40_000, crc("id, HEX(t)"))
			f("latin", "CREATE TABLE odd (id INT PRIMARY KEY, t VARCHAR(50)) CHARACTER SET latin1",
				[]string{"id", "t"}, 3,
				func(n int, emit func([]workload.Datum)) {
					emit([]workload.Datum{workload.Int(int64(n)), workload.String("Größe")})
				}, 3, crc("id, HEX(t)"))
			f("bytes", "CREATE TABLE odd (id INT PRIMARY KEY, t BLOB)", []string{"id", "t"}, 256,
				func(n int, emit func([]workload.Datum)) {
					emit([]workload.Datum{
						workload.Int(int64(n)),
						workload.Bytes([]byte{byte(n), 255, 0, '\\', byte(n)}),
					})
				}, 256, crc("id, HEX(t)"))
			f("bits", "CREATE TABLE odd (id INT PRIMARY KEY, b BIT(8), y YEAR, e ENUM('2','1'))",
				[]string{"id", "b", "y", "e"}, 9,
				func(n int, emit func([]workload.Datum)) {
					emit([]workload.Datum{
						workload.Int(int64(n)), workload.Int(int64(n)),
						workload.Int(0), workload.Int(1),
					})
				}, 9, crc("id, b+0, y, e"))
			f("lines", "CREATE TABLE odd (o INT, l INT, PRIMARY KEY (o, l))", []string{"o", "l"}, 30_000,
				func(n int, emit func([]workload.Datum)) {
					for l := range n % 4 { // for some numbers none
						emit([]workload.Datum{workload.Int(int64(n)), workload.Int(int64(l))})
					}
				}, 30_000/4*6, crc("o, l"))
			f("myisam", "CREATE TABLE odd (id INT PRIMARY KEY, t VARCHAR(50)) ENGINE=MyISAM",
				[]string{"id", "t"}, 20_000,
				func(n int, emit func([]workload.Datum)) {
					emit([]workload.Datum{workload.Int(int64(n)), workload.String("x")})
				}, 20_000, crc("id, t"))
		}
	}
	for name, s := range sums {
		if s["stream"] != s["insert"] || s["insert"] == "" {
			t.Errorf("%s: streamed %q, inserted %q", name, s["stream"], s["insert"])
		}
	}
}

// TestBadRowsAreAnError sends a key twice: LOAD DATA LOCAL would only warn.
func TestBadRowsAreAnError(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		f := func(create string, number uint16) {
			t.Helper()
			w := awkward{
				create: create, rows: 100, cols: []string{"id", "t"},
				values: func(n int, emit func([]workload.Datum)) {
					emit([]workload.Datum{workload.Int(int64(min(n, 99))), workload.String("too long")})
				},
			}
			err := on(tg).Prepare(t.Context(), load.Data{Workload: w, Options: map[string]string{"mysql-db": "bad"}},
				nil)
			if got, _ := target.ServerErrorNumber(err); got != number {
				t.Errorf("%s: %v, want the server's error %d", create, err, number)
			}
		}
		f("CREATE TABLE odd (id INT PRIMARY KEY, t VARCHAR(50))", 1062)
		f("CREATE TABLE odd (id INT, t VARCHAR(3))", 1406)
	}, "local_infile=ON")
}

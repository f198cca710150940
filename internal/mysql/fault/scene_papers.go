package fault

import (
	"fmt"
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// The archive: papers of about 1 KB each, so that few rows make many pages.

const paperBytes = 1000

// papers describes the table. Its rows are found by their number and by nothing else.
func papers(n fault.Names, rows int) workload.Table {
	return workload.Table{
		Name: n.Of("papers"), Rows: rows,
		Create: n.SQL("CREATE TABLE {papers} ({papers.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {papers.title} " +
			"VARCHAR(80) NOT NULL, " +
			"{papers.pages} INT UNSIGNED NOT NULL, {papers.body} VARCHAR(2000) NOT NULL, PRIMARY KEY ({papers.id})) " +
			"ENGINE=InnoDB"),
		Columns: n.List("papers.id", "papers.title", "papers.pages", "papers.body"),
		Key:     n.Of("papers.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|1<<33)
				l.Begin()
				l.Int(row)
				l.Text("Paper %d", row)
				l.Int(1 + r.IntN(300))
				l.Text("%s", prose(r, paperBytes))
				emit(l.Row)
			}
		},
	}
}

// prose returns so many letters.
func prose(r *rand.Rand, bytes int) []byte {
	b := make([]byte, 0, bytes+16)
	for len(b) < bytes {
		b = fmt.Appendf(b, "%016x", r.Uint64())
	}
	return b[:bytes]
}

func getPaper(weight int) fault.Operation {
	return fault.Operation{
		Name: "get_paper", Weight: weight,
		SQL:  "SELECT {papers.title}, {papers.body} FROM {papers} WHERE {papers.id} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
	}
}

// rewritePaper changes the whole row.
func rewritePaper(weight int) fault.Operation {
	return fault.Operation{
		Name: "rewrite_paper", Weight: weight,
		SQL: "UPDATE {papers} SET {papers.body} = ? WHERE {papers.id} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0], args[1] = workload.Bytes(prose(r, paperBytes)), fault.ID(r, rows)
		},
	}
}

// countPages changes four bytes of a row.
func countPages(weight int) fault.Operation {
	return fault.Operation{
		Name: "count_pages", Weight: weight,
		SQL: "UPDATE {papers} SET {papers.pages} = ? WHERE {papers.id} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0], args[1] = workload.Int(1+r.Int64N(300)), fault.ID(r, rows)
		},
	}
}

func justPapers(n fault.Names, rows int) []workload.Table { return []workload.Table{papers(n, rows)} }

// with returns settings with others on top.
func with(settings map[string]string, more ...string) map[string]string {
	for i := 0; i+1 < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	return settings
}

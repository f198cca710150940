package fault

import (
	"fmt"
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/workload"
)

// The archive: papers of about 1 KB each, so that few rows make many pages.

const paperBytes = 1000

// papers describes the table. Its rows are found by their number and by nothing else.
func papers(n names, rows int) workload.Table {
	return workload.Table{
		Name: n.of("papers"), Rows: rows,
		Create: n.sql("CREATE TABLE {papers} ({papers.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {papers.title} " +
			"VARCHAR(80) NOT NULL, " +
			"{papers.pages} INT UNSIGNED NOT NULL, {papers.body} VARCHAR(2000) NOT NULL, PRIMARY KEY ({papers.id})) " +
			"ENGINE=InnoDB"),
		Columns: n.list("papers.id", "papers.title", "papers.pages", "papers.body"),
		Key:     n.of("papers.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|1<<33)
				l.begin()
				l.int(row)
				l.text("Paper %d", row)
				l.int(1 + r.IntN(300))
				l.text("%s", prose(r, paperBytes))
				emit(l.row)
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

func getPaper(weight int) operation {
	return operation{
		"get_paper", weight,
		"SELECT {papers.title}, {papers.body} FROM {papers} WHERE {papers.id} = ?",
		func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = id(r, rows) },
	}
}

// rewritePaper changes the whole row.
func rewritePaper(weight int) operation {
	return operation{
		"rewrite_paper", weight,
		"UPDATE {papers} SET {papers.body} = ? WHERE {papers.id} = ?",
		func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0], args[1] = workload.Bytes(prose(r, paperBytes)), id(r, rows)
		},
	}
}

// countPages changes four bytes of a row.
func countPages(weight int) operation {
	return operation{
		"count_pages", weight,
		"UPDATE {papers} SET {papers.pages} = ? WHERE {papers.id} = ?",
		func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0], args[1] = workload.Int(1+r.Int64N(300)), id(r, rows)
		},
	}
}

func justPapers(n names, rows int) []workload.Table { return []workload.Table{papers(n, rows)} }

// with returns settings with others on top.
func with(settings map[string]string, more ...string) map[string]string {
	for i := 0; i+1 < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	return settings
}

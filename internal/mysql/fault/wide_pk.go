package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// widePK plants a primary key of three texts below five other indexes.
func widePK() fault.Fault {
	return fault.Fault{
		Name:  "wide-pk",
		Title: "a primary key of three texts is repeated in five other indexes",
		Story: "Documents are identified by tenant, folder and name, and these three texts are the primary key: some " +
			"100 bytes. Each of the five other " +
			"indexes repeats them in every entry, to look up numbers of 4 bytes. The indexes take several times the " +
			"space of their own columns, in " +
			"the pool, on the disk and in backups. The fix is a number as primary key, with a unique key on the " +
			"three texts.",
		Kind:     fault.Risk,
		Threads:  2,
		Settings: unhurried(),
		Workload: fault.Mix{
			ID: "wide-pk", About: "documents read by name and by owner, and updated", Rows: 60_000,
			Tables:     func(n fault.Names, rows int) []workload.Table { return []workload.Table{documents(n, rows)} },
			Operations: []fault.Operation{getDocument(50), documentsOfOwner(30), touchDocument(20)},
		},
		Right: func(n fault.Names) fault.Expectation {
			old := n.List("documents.tenant", "documents.folder", "documents.name")
			return fault.Expectation{
				Rule: "wide-pk", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("documents")},
				Check: func(f finding.Finding) string {
					if !slices.Equal(f.Subject.Columns, old) {
						return "it is not about the three columns"
					}
					if f.Action == nil || !slices.ContainsFunc(f.Action.Changes, func(c schema.Clause) bool {
						return c.Kind == schema.PrimaryKey && len(c.Index.Parts) == 1
					}) {
						return "it gives no new primary key"
					}
					if !slices.ContainsFunc(f.Action.Changes, func(c schema.Clause) bool {
						return c.Kind == schema.AddKey && c.Index.Unique && len(c.Index.Parts) == len(old)
					}) {
						return "it gives up that the old key is unique"
					}
					return ""
				},
			}
		},
	}
}

func documents(n fault.Names, rows int) workload.Table {
	return workload.Table{
		Name: n.Of("documents"), Rows: rows,
		Create: n.SQL("CREATE TABLE {documents} ({documents.tenant} VARCHAR(60) NOT NULL, {documents.folder} " +
			"VARCHAR(120) NOT NULL, " +
			"{documents.name} VARCHAR(80) NOT NULL, {documents.owner_id} INT UNSIGNED NOT NULL, {documents.size} INT " +
			"UNSIGNED NOT NULL, " +
			"{documents.changed_at} INT UNSIGNED NOT NULL, {documents.kind} SMALLINT UNSIGNED NOT NULL, " +
			"{documents.checksum} BIGINT UNSIGNED NOT NULL, " +
			"PRIMARY KEY ({documents.tenant}, {documents.folder}, {documents.name}), KEY {documents.by_owner} " +
			"({documents.owner_id}, {documents.kind}), " +
			"KEY {documents.by_size} ({documents.size}), KEY {documents.by_changed} ({documents.changed_at}), " +
			"KEY {documents.by_kind} ({documents.kind}, {documents.changed_at}), KEY {documents.by_checksum} " +
			"({documents.checksum})) ENGINE=InnoDB"),
		Columns: n.List("documents.tenant", "documents.folder", "documents.name", "documents.owner_id",
			"documents.size", "documents.changed_at", "documents.kind", "documents.checksum"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|3<<32)
				tenant, folder, name := documentName(row)
				l.Begin()
				l.Text("%s", tenant)
				l.Text("%s", folder)
				l.Text("%s", name)
				l.Int(owner(row))
				l.Int(r.IntN(1 << 30))
				l.Int(firstSeen + r.IntN(100_000_000))
				l.Int(row % 40)
				l.Text("%d", r.Uint64())
				emit(l.Row)
			}
		},
	}
}

// documentName makes the three texts of a row's number.
func documentName(row int) (tenant, folder, name string) {
	return fmt.Sprintf("tenant-%03d.offices.example", row/1000),
		fmt.Sprintf("/archive/department %02d/correspondence/%06d", row/100%10, row/100),
		fmt.Sprintf("letter of the %08d. day.pdf", row)
}

const documentsPerOwner = 25

func owner(row int) int { return 1 + row/documentsPerOwner }

func getDocument(weight int) fault.Operation {
	return fault.Operation{
		Name: "get_document", Weight: weight,
		SQL: "SELECT {documents.size}, {documents.changed_at} FROM {documents} WHERE {documents.tenant} = ? AND " +
			"{documents.folder} = ? AND {documents.name} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			a, b, c := documentName(1 + r.IntN(rows))
			args[0], args[1], args[2] = workload.String(a), workload.String(b), workload.String(c)
		},
	}
}

func documentsOfOwner(weight int) fault.Operation {
	return fault.Operation{
		Name: "documents_of_owner", Weight: weight,
		SQL: "SELECT {documents.name}, {documents.size} FROM {documents} WHERE {documents.owner_id} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0] = workload.Int(int64(owner(1 + r.IntN(rows))))
		},
	}
}

func touchDocument(weight int) fault.Operation {
	return fault.Operation{
		Name: "touch_document", Weight: weight,
		SQL: "UPDATE {documents} SET {documents.changed_at} = ? WHERE {documents.tenant} = ? AND {documents.folder} " +
			"= ? " +
			"AND {documents.name} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			a, b, c := documentName(1 + r.IntN(rows))
			args[0], args[1], args[2], args[3] = workload.Int(firstSeen+int64(r.IntN(100_000_000))), workload.String(a),
				workload.String(b), workload.String(c)
		},
	}
}

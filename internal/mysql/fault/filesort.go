package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// filesort plants an index that finds the rows of an equality and lacks the column that they are sorted by.
func filesort() fault.Fault {
	const mailboxes = 100
	return fault.Fault{
		Name:  "filesort",
		Title: "the latest ten of many rows are found by a filesort",
		Story: "Each of 100 mailboxes holds some 2000 messages, and its latest ten are queried all the time. The " +
			"index finds the mailbox but not the " +
			"order: every call reads all 2000 messages and sorts them to return ten. The fix is the same index with " +
			"the time after the mailbox.",
		Kind:     fault.Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: fault.Mix{
			ID: "filesort", About: "the latest ten messages of a mailbox by an index without the time", Rows: 200_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{indexTable(n, "messages", rows, []string{
					"id", "mailbox_id", "received_at",
					"subject", "size_bytes",
				},
					"{*id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {*mailbox_id} INT NOT NULL, {*received_at} DATETIME "+
						"NOT NULL, {*subject} VARCHAR(120) NOT NULL, "+
						"{*size_bytes} INT NOT NULL, PRIMARY KEY ({*id}), KEY {*by_mailbox} ({*mailbox_id})",
					func(r *rand.Rand, row int, l *fault.Line) {
						l.Int(1 + r.IntN(mailboxes))
						l.Time(r.IntN(daysOfData * daySeconds))
						l.Text("About what we talked of on the phone, part %d", row)
						l.Int(r.IntN(100_000))
					})}
			},
			Operations: []fault.Operation{
				{
					Name: "latest", Weight: 50,
					SQL: "SELECT {messages.id}, {messages.received_at}, {messages.subject} FROM {messages} WHERE " +
						"{messages.mailbox_id} = ? ORDER BY {messages.received_at} DESC LIMIT 10",
					Args: func(r *rand.Rand, _ int, args []workload.Datum) {
						args[0] = workload.Int(1 + r.Int64N(mailboxes))
					},
				},
				{
					Name: "get_message", Weight: 40,
					SQL:  "SELECT {messages.subject}, {messages.size_bytes} FROM {messages} WHERE {messages.id} = ?",
					Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
				},
				{
					Name: "add_message", Weight: 10,
					SQL: "INSERT INTO {messages} ({messages.mailbox_id}, {messages.received_at}, {messages.subject}, " +
						"{messages.size_bytes}) VALUES (?, NOW(), ?, 1000)",
					Args: func(r *rand.Rand, _ int, args []workload.Datum) {
						args[0], args[1] = workload.Int(1+r.Int64N(mailboxes)), workload.String("a new one")
					},
				},
			},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "filesort", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("messages")},
				Columns: n.List("messages.mailbox_id", "messages.received_at"),
			}
		},
	}
}

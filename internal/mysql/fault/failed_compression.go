package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// failedCompression plants compressed pages of 4 KiB for texts that do not compress.
func failedCompression() fault.Fault {
	settings := unhurried()
	settings["innodb_compression_level"] = "9" // somebody wanted it really small
	return fault.Fault{
		Name:  "failed-compression",
		Title: "pages are to be compressed to a quarter, and their texts do not compress",
		Story: "Messages are stored encrypted, as text that no algorithm can compress, in a table with " +
			"ROW_FORMAT=COMPRESSED and KEY_BLOCK_SIZE=4, at the highest level. " +
			"A page of 16 KiB never fits into 4, so the server compresses it without success, splits it, and " +
			"compresses both halves, for every " +
			"new message. The fix is to store the table without compression.",
		Kind:     fault.Hurts,
		Threads:  3,
		Settings: settings,
		Workload: fault.Mix{
			ID: "failed-compression", About: "encrypted messages come and are read", Rows: 4000,
			Tables:     func(n fault.Names, rows int) []workload.Table { return []workload.Table{messages(n, rows)} },
			Operations: []fault.Operation{addMessage(45), editMessage(35), getMessage(20)},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "failed-compression", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("messages")},
				Check: func(f finding.Finding) string {
					if f.Action == nil || len(f.Action.Changes) == 0 || f.Action.Changes[0].Kind != schema.TableOption {
						return "it does not change how the table is stored"
					}
					return ""
				},
			}
		},
	}
}

func messages(n fault.Names, rows int) workload.Table {
	return workload.Table{
		Name: n.Of("messages"), Rows: rows,
		Create: n.SQL("CREATE TABLE {messages} ({messages.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, " +
			"{messages.mailbox} INT UNSIGNED NOT NULL, " +
			"{messages.body} VARCHAR(1500) CHARACTER SET ascii NOT NULL, PRIMARY KEY ({messages.id}), KEY " +
			"{messages.by_mailbox} ({messages.mailbox})) " +
			"ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4"),
		Columns: n.List("messages.id", "messages.mailbox", "messages.body"),
		Key:     n.Of("messages.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|5<<32)
				l.Begin()
				l.Int(row)
				l.Int(r.IntN(mailboxes))
				l.Text("%s", secret(r))
				emit(l.Row)
			}
		},
	}
}

const mailboxes = 500

// secret returns 800 to 1400 letters that look like chance.
func secret(r *rand.Rand) []byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	b := make([]byte, 800+r.IntN(600))
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return b
}

func addMessage(weight int) fault.Operation {
	return fault.Operation{
		Name: "add_message", Weight: weight,
		SQL: "INSERT INTO {messages} ({messages.mailbox}, {messages.body}) VALUES (?, ?)",
		Args: func(r *rand.Rand, _ int, args []workload.Datum) {
			args[0], args[1] = workload.Int(int64(r.IntN(mailboxes))), workload.Bytes(secret(r))
		},
	}
}

func editMessage(weight int) fault.Operation {
	return fault.Operation{
		Name: "edit_message", Weight: weight,
		SQL: "UPDATE {messages} SET {messages.body} = ? WHERE {messages.id} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0], args[1] = workload.Bytes(secret(r)), fault.ID(r, rows)
		},
	}
}

func getMessage(weight int) fault.Operation {
	return fault.Operation{
		Name: "get_message", Weight: weight,
		SQL:  "SELECT {messages.mailbox}, {messages.body} FROM {messages} WHERE {messages.id} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
	}
}

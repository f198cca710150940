package fault

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

// The scene that the faults share: the clients of a sales office, and its visits to them.

const (
	// regions is how many different regions the clients live in: with 400 000 clients about 160 in each.
	regions = 2500
	// Cities is how many different ones they live in.
	Cities = 900
	// clientsPerVisit keeps the second table smaller than the first.
	clientsPerVisit = 4
)

// Clients describes the large table. create is its definition in the family's SQL, of the columns that are listed, in
// which a row without an id gets the next one.
func Clients(n Names, rows int, create string) workload.Table {
	return workload.Table{
		Name: n.Of("clients"), Rows: rows, Create: create,
		Columns: n.List("clients.id", "clients.full_name", "clients.email", "clients.region_code", "clients.city",
			"clients.balance", "clients.updated_at"),
		Key: n.Of("clients.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row))
				l.Begin()
				l.Int(row)
				l.Text("Client %d %08x", row, r.Uint32())
				l.Text("client%d@example.com", row)
				l.Text(regionFormat, r.IntN(regions))
				l.Text("City %d", r.IntN(Cities))
				l.Text("%d.%02d", r.IntN(100_000), r.IntN(100))
				l.Time(r.IntN(365 * 24 * 3600))
				emit(l.Row)
			}
		},
	}
}

// Visits describes the small table, of which create is the definition as of Clients. It has the index that its use
// needs, on the client and the time.
func Visits(n Names, rows int, create string) workload.Table {
	rows = max(1, rows/clientsPerVisit)
	return workload.Table{
		Name: n.Of("visits"), Rows: rows, Create: create,
		Columns: n.List("visits.id", "visits.client_id", "visits.visited_at", "visits.note"),
		Key:     n.Of("visits.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|1<<32)
				l.Begin()
				l.Int(row)
				l.Int(1 + r.IntN(rows*clientsPerVisit))
				l.Time(61 * row)
				l.Text("visit number %d", row)
				emit(l.Row)
			}
		},
	}
}

// Line puts together a row whose texts share one buffer.
type Line struct {
	Row []workload.Datum
	buf []byte
}

// Begin begins a row.
func (l *Line) Begin() { l.Row, l.buf = l.Row[:0], l.buf[:0] }

// Int adds a whole number.
func (l *Line) Int(n int) { l.Row = append(l.Row, workload.Int(int64(n))) }

// Text adds a text.
func (l *Line) Text(format string, args ...any) {
	from := len(l.buf)
	l.buf = fmt.Appendf(l.buf, format, args...)
	l.Row = append(l.Row, workload.Bytes(l.buf[from:]))
}

// Time adds a moment so many seconds after the beginning of 2024.
func (l *Line) Time(seconds int) {
	from := len(l.buf)
	l.buf = time.Date(2024, 1, 1, 0, 0, seconds, 0, time.UTC).AppendFormat(l.buf, time.DateTime)
	l.Row = append(l.Row, workload.Bytes(l.buf[from:]))
}

// regionFormat makes the name of a region of its number; each is as likely.
const regionFormat = "R%04d"

func region(r *rand.Rand) workload.Datum {
	return workload.Bytes(fmt.Appendf(nil, regionFormat, r.IntN(regions)))
}

// The operations of the scene. Weights are the caller's.

// FindByRegion reads the clients of one region.
func FindByRegion(weight int) Operation {
	return Operation{
		"find_by_region", weight,
		"SELECT {clients.id}, {clients.full_name}, {clients.email}, {clients.balance} FROM {clients} WHERE " +
			"{clients.region_code} = ?",
		func(r *rand.Rand, _ int, args []workload.Datum) { args[0] = region(r) },
	}
}

// GetClient reads a client by its number.
func GetClient(weight int) Operation {
	return Operation{
		"get_client", weight,
		"SELECT {clients.full_name}, {clients.email}, {clients.city}, {clients.balance} FROM {clients} WHERE " +
			"{clients.id} = ?",
		func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = ID(r, rows) },
	}
}

// LastVisits reads the last ten visits to a client.
func LastVisits(weight int) Operation {
	return Operation{
		"last_visits", weight,
		"SELECT {visits.id}, {visits.visited_at}, {visits.note} FROM {visits} WHERE {visits.client_id} = ? ORDER BY " +
			"{visits.visited_at} DESC LIMIT 10",
		func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = ID(r, rows) },
	}
}

// ClientRange reads twenty clients by their numbers.
func ClientRange(weight int) Operation {
	return Operation{
		"list_clients", weight,
		"SELECT {clients.id}, {clients.full_name} FROM {clients} WHERE {clients.id} BETWEEN ? AND ?",
		func(r *rand.Rand, rows int, args []workload.Datum) {
			from := 1 + r.Int64N(int64(rows))
			args[0], args[1] = workload.Int(from), workload.Int(from+19)
		},
	}
}

// UpdateBalance changes a client.
func UpdateBalance(weight int) Operation {
	return Operation{
		"update_balance", weight,
		"UPDATE {clients} SET {clients.balance} = ?, {clients.updated_at} = NOW() WHERE {clients.id} = ?",
		func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0], args[1] = workload.Float(float64(r.IntN(1e7))/100), ID(r, rows)
		},
	}
}

// AddVisit adds a visit.
func AddVisit(weight int) Operation {
	return Operation{
		"add_visit", weight,
		"INSERT INTO {visits} ({visits.client_id}, {visits.visited_at}, {visits.note}) VALUES (?, NOW(), ?)",
		func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0], args[1] = ID(r, rows), workload.String("came by")
		},
	}
}

// AddClient adds a client.
func AddClient(weight int) Operation {
	return Operation{
		"add_client", weight,
		"INSERT INTO {clients} ({clients.full_name}, {clients.email}, {clients.region_code}, {clients.city}, " +
			"{clients.balance}, {clients.updated_at}) " +
			"VALUES (?, ?, ?, ?, 0, NOW())",
		func(r *rand.Rand, _ int, args []workload.Datum) {
			args[0], args[1] = workload.String("New client"),
				workload.String(fmt.Sprintf("new%d@example.com", r.IntN(1e9)))
			args[2], args[3] = region(r), workload.String(fmt.Sprintf("City %d", r.IntN(Cities)))
		},
	}
}

// ID is the number of some row of so many.
func ID(r *rand.Rand, rows int) workload.Datum { return workload.Int(1 + r.Int64N(int64(rows))) }

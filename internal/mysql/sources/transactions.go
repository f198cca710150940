package sources

import (
	"context"
	"database/sql/driver"
	"strconv"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// transactions reads the transactions that are open in InnoDB from information_schema.INNODB_TRX, which needs PROCESS:
//
//	dyno_transactions{state}              open now, by the server's word for their state
//	dyno_transaction_oldest_seconds       age of the oldest, 0 for none
//
// InnoDB fills the table anew only when nobody has read it for 100 ms, so what is read from it within one round is of
// one moment.
type transactions struct {
	q      querier
	acc    account
	seen   *moment
	read   string
	states map[string]metric.Labels
}

// trxLimit bounds the rows that are read; the oldest come first.
const trxLimit = 1000

// trxNow is the time as InnoDB stamps transactions: in the time zone of the operating system, whatever the session's
// is.
const trxNow = "CONVERT_TZ(SYSDATE(), @@session.time_zone, 'SYSTEM')"

func newTransactions(q querier, acc account, seen *moment) *transactions {
	readOnly := "trx_is_read_only"
	if f := acc.Facts(); !f.Flavor.IsMariaDB() && !f.Version.AtLeast(5, 6, 0) {
		readOnly = "0"
	}
	return &transactions{
		q: q, acc: acc, seen: seen, states: map[string]metric.Labels{},
		read: tagged(source.Transactions,
			"SELECT trx_mysql_thread_id, trx_id, trx_state, TIMESTAMPDIFF(SECOND, trx_started, "+trxNow+
				"), trx_rows_locked, trx_rows_modified,"+
				" "+readOnly+" FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id<>CONNECTION_ID() ORDER BY "+
				"trx_started LIMIT "+strconv.Itoa(trxLimit)),
	}
}

func (s *transactions) Name() source.Name { return source.Transactions }

func (s *transactions) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	list := []state.Transaction{}
	count := map[string]float64{}
	oldest := 0.0
	if _, err := s.q.Query(ctx, s.read, func(row []driver.Value) {
		if len(row) != 7 || len(list) == trxLimit {
			return
		}
		x := state.Transaction{
			Session: id(row[0]), ID: string(text(row[1])), Phase: string(text(row[2])),
			Locks: whole(row[4]), Modified: whole(row[5]),
		}
		x.Seconds, _ = number(row[3])
		x.Seconds = max(0, x.Seconds)
		ro, _ := number(row[6])
		x.ReadOnly = ro != 0
		count[x.Phase]++
		oldest = max(oldest, x.Seconds)
		list = append(list, x)
	}); err != nil {
		return classify(s.acc, err, "PROCESS ON *.*")
	}
	s.seen.trx, s.seen.trxAt = list, at
	for phase := range count {
		if s.states[phase] == nil && len(s.states) < 20 {
			s.states[phase] = metric.L("state", metricName("", []byte(phase)))
		}
	}
	for phase, l := range s.states {
		emit(metric.Sample{Name: "dyno_transactions", Labels: l, At: at, Value: count[phase]})
	}
	emit(metric.Sample{Name: "dyno_transaction_oldest_seconds", At: at, Value: oldest})
	return nil
}

// Fill adds the open transactions; an empty list, not nil, when there are none.
func (s *transactions) Fill(st *state.State) { st.Transactions = s.seen.trx }

// id reads the id of a session; 0 for NULL.
func id(v driver.Value) uint64 { return whole(v).Or(0) }

// whole reads a count that may be NULL or absurd.
func whole(v driver.Value) known.Value[uint64] {
	switch x := v.(type) {
	case int64:
		if x >= 0 {
			return known.Of(uint64(x))
		}
	case uint64:
		return known.Of(x)
	case []byte:
		if n, err := strconv.ParseUint(string(x), 10, 64); err == nil {
			return known.Of(n)
		}
	case float64:
		if x >= 0 && x < 1<<63 {
			return known.Of(uint64(x))
		}
	}
	return known.None[uint64]()
}

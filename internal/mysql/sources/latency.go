package sources

import (
	"context"
	"database/sql/driver"
	"strconv"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
)

// latency reads the histogram that MySQL 8.0 keeps of the times of all statements:
//
//	dyno_statement_latency_seconds{quantile}  of the statements since the reading before: 0.5, 0.95, 0.99
//
// Its steps are 4.7 % wide, and the upper end of one is emitted. Dyno's own statements are in it; with more than
// latencyOwn of them there is no figure. A server that keeps no such histogram, as MariaDB, has none of these.
type latency struct {
	q      querier
	acc    account
	sent   func() uint64 // statements that Dyno has sent
	sql    string
	gen    int
	before map[uint64]float64 // count by step; nil before the first reading
	mine   uint64
}

// maxSteps bounds the steps of the histogram; servers have 450.
const maxSteps = 1000

const (
	latencyOwn   = 0.1
	leastLatency = 20 // statements that quantiles are made of at least
)

var quantiles = []float64{0.5, 0.95, 0.99}

func newLatency(q querier, t *target.Target) *latency {
	return &latency{
		q: q, acc: t, sent: func() (n uint64) {
			for _, v := range t.Sent() {
				n += v
			}
			return n
		},
		sql: tagged(source.Latency, "SELECT BUCKET_NUMBER, BUCKET_TIMER_HIGH, COUNT_BUCKET"+
			" FROM performance_schema.events_statements_histogram_global WHERE COUNT_BUCKET>0 ORDER BY BUCKET_NUMBER"),
	}
}

func (s *latency) Name() source.Name { return source.Latency }

// step is how many statements took up to high seconds, and longer than the step before allows.
type step struct{ high, n float64 }

func (s *latency) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	if s.acc.Facts().Flavor.IsMariaDB() {
		return nil
	}
	if a := s.acc.Answer(target.HasPerformanceSchema); !a.Has {
		return &scrape.Problem{State: source.Missing, Reason: a.Reason, Fix: a.Fix}
	}
	now, grown := map[uint64]float64{}, []step{}
	whole, total := true, 0.0
	if _, err := s.q.Query(ctx, s.sql, func(row []driver.Value) {
		if len(row) != 3 || len(now) == maxSteps {
			return
		}
		i, _ := number(row[0])
		high, _ := number(row[1])
		n, _ := number(row[2])
		now[uint64(i)] = n
		d := n - s.before[uint64(i)]
		whole = whole && d >= 0
		if d > 0 {
			grown, total = append(grown, step{high * picoseconds, d}), total+d
		}
	}); err != nil {
		if n, _ := target.ServerErrorNumber(err); n == 1146 {
			return nil
		}
		return classify(s.acc, err, pfsPrivilege)
	}
	sent := s.sent()
	mine := float64(sent - s.mine)
	first := s.before == nil || s.gen != s.q.Generation() || !whole || sent < s.mine // counting began anew
	s.before, s.gen, s.mine = now, s.q.Generation(), sent
	if first || mine > latencyOwn*total || total < leastLatency {
		return nil
	}
	for _, q := range quantiles {
		emit(metric.Sample{
			Name: "dyno_statement_latency_seconds", Labels: metric.L("quantile", strconv.FormatFloat(q, 'g', -1, 64)),
			At: at, Value: quantile(grown, total, q),
		})
	}
	return nil
}

// quantile returns the upper end of the step in which the q-quantile of all n is. steps are in order and not empty.
func quantile(steps []step, n, q float64) float64 {
	sum := 0.0
	for _, x := range steps {
		if sum += x.n; sum >= q*n {
			return x.high
		}
	}
	return steps[len(steps)-1].high
}

package sources

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/source"
)

// globalStatus reads SHOW GLOBAL STATUS, which every account may. Each numeric variable becomes a sample, see
// StatusSeries; ON and YES are 1, OFF and NO are 0; other text is left out.
//
// What is in these totals of Dyno's own is known for some of them: without it they are
// dyno_client_status_total{variable}, and the sessions dyno_client_status{variable}.
//
// It also notices restarts.
type globalStatus struct {
	q     querier
	own   spender // nil for nobody
	acc   account
	sql   string
	mine  clients
	known map[string]series // by the server's spelling
	// as the rows came last: they nearly always come in the same order, and comparing is cheaper than looking up
	order  []named
	life   uptime
	galera galera
	server string // that was read last
	// forgets says that a counter may fall a little without a restart.
	forgets bool
	news    []event.Event
}

// named is the name of a row with what it becomes.
type named struct {
	row string
	series
}

// series is what stays the same for all samples of one metric.
type series struct {
	name     string
	labels   metric.Labels
	kind     metric.Kind
	variable string // of the status, in lower case
	past     *past  // of a counter that a server may forget a part of
}

// past is what a counter was last, and how much of it the server has forgotten since it counts.
type past struct{ last, lost float64 }

// keep returns what a counter is said to be: with what the server has forgotten of it, as MariaDB does of what a
// session counted that was ended. Of a counter any fall reads as a start from 0, as after FLUSH STATUS, which leaves
// less than half.
func (k series) keep(v float64) float64 {
	p := k.past
	if p == nil {
		return v
	}
	switch {
	case v < p.last/2:
		p.lost = 0
	case v < p.last:
		p.lost += p.last - v
	}
	p.last = v
	return v + p.lost
}

// spender knows what Dyno's own sessions made the server count.
type spender interface {
	Spent(ctx context.Context) (target.Spent, bool)
}

func newGlobalStatus(q querier, own spender, acc account, forgets bool) *globalStatus {
	return &globalStatus{forgets: forgets, q: q, own: own, acc: acc, sql: tagged(source.GlobalStatus,
		"SHOW GLOBAL STATUS"), known: map[string]series{}}
}

func (s *globalStatus) Name() source.Name { return source.GlobalStatus }

func (s *globalStatus) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	i := -1
	s.mine.begin()
	if s.own != nil {
		s.mine.own, s.mine.known = s.own.Spent(ctx)
	}
	if s.mine.known && s.server != s.mine.own.Server { // another one has another past
		for _, k := range s.known {
			if k.past != nil {
				*k.past = past{}
			}
		}
		s.server = s.mine.own.Server
	}
	_, err := s.q.Query(ctx, s.sql, func(row []driver.Value) {
		i++
		if len(row) != 2 {
			return
		}
		name, val := text(row[0]), text(row[1])
		s.galera.note(name, val)
		v, isWord, ok := statusValue(val)
		if !ok {
			return
		}
		k, ok := s.series(i, name, isWord)
		if !ok {
			return
		}
		s.life.note(name, v)
		s.mine.note(k.variable, v)
		emit(metric.Sample{Name: k.name, Labels: k.labels, Kind: k.kind, At: at, Value: k.keep(v)})
	})
	if err == nil {
		s.galera.emit(at, emit)
		s.mine.own = s.mine.own.Until()
		s.mine.emit(at, emit)
		if e, ok := s.life.settle(s.q.Generation(), time.UnixMilli(at), time.Now()); ok {
			s.news = append(s.news, e)
		}
	}
	return classify(s.acc, err, "")
}

// series returns what a variable in row i becomes, which is worked out once; not ok where there are more variables than
// any server has: what sends them without end must not fill the memory.
func (s *globalStatus) series(i int, name []byte, isWord bool) (k series, ok bool) {
	if i < len(s.order) && s.order[i].row == string(name) {
		return s.order[i].series, true
	}
	if k, ok = s.known[string(name)]; !ok {
		if len(s.known) > 5000 {
			return series{}, false
		}
		variable := metricName("", name)
		x := StatusSeries(variable)
		k = series{name: x.Name, labels: x.Labels, kind: x.Kind, variable: variable}
		if isWord {
			k.kind = metric.Gauge
		}
		if k.kind == metric.Counter && s.forgets {
			k.past = new(past)
		}
		s.known[string(name)] = k
	}
	for len(s.order) <= i && i < 5000 {
		s.order = append(s.order, named{})
	}
	if i < len(s.order) {
		s.order[i] = named{string(name), k}
	}
	return k, true
}

// Events returns the restarts since the last call.
func (s *globalStatus) Events() []event.Event {
	e := s.news
	s.news = nil
	return e
}

// statusValue reads the value of a status variable.
func statusValue(b []byte) (v float64, isWord, ok bool) {
	if v, ok := parseNumber(b); ok {
		return v, false, true
	}
	switch {
	case len(b) == 2 && b[0] == 'O' && b[1] == 'N', string(b) == "YES", string(b) == "Yes":
		return 1, true, true
	case string(b) == "OFF", string(b) == "NO", string(b) == "No":
		return 0, true, true
	}
	return 0, false, false
}

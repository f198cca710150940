package sources

import (
	"context"
	"database/sql/driver"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// innodbStatus reads SHOW ENGINE INNODB STATUS, which needs PROCESS. Its figures are dyno_innodb_<name>, and those that
// mysqld_exporter reads of it mysql_engine_innodb_<name>; see innodbLines. Besides there are
//
//	dyno_innodb_last_deadlock_timestamp_seconds            when the last deadlock was, Unix time
//	dyno_innodb_last_foreign_key_error_timestamp_seconds
//
// The text itself goes into the state.
type innodbStatus struct {
	q      querier
	acc    account
	sql    string
	labels map[string]metric.Labels
	text   string
	since  map[string]happened
}

// happened is when something that the text goes on showing was: worked out once, for the difference of two clocks that
// show seconds wavers.
type happened struct {
	when string
	unix float64
}

func newInnodbStatus(q querier, acc account) *innodbStatus {
	return &innodbStatus{
		q: q, acc: acc, sql: tagged(figures.InnodbStatus, "SHOW ENGINE INNODB STATUS"),
		labels: map[string]metric.Labels{}, since: map[string]happened{},
	}
}

func (s *innodbStatus) Name() source.Name { return figures.InnodbStatus }

func (s *innodbStatus) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	s.text = ""
	if _, err := s.q.Query(ctx, s.sql, func(row []driver.Value) {
		if len(row) == 3 {
			b := text(row[2])
			s.text = string(b[:min(len(b), longestInnodb)])
		}
	}); err != nil {
		return classify(s.acc, err, "PROCESS ON *.*")
	}
	if s.text == "" {
		return &scrape.Problem{State: source.Missing, Reason: "the server has no InnoDB"}
	}
	x := parseInnodb(s.text)
	for _, f := range x.figures {
		l, ok := s.labels[f.extra]
		if !ok && f.extra != "" {
			name, value, _ := strings.Cut(f.extra, "=")
			l = metric.L(name, value)
			s.labels[f.extra] = l
		}
		emit(metric.Sample{Name: f.name, Labels: l, Kind: f.kind, At: at, Value: f.value})
	}
	s.last("dyno_innodb_last_deadlock_timestamp_seconds", x.deadlock, at, emit)
	s.last("dyno_innodb_last_foreign_key_error_timestamp_seconds", x.foreign, at, emit)
	return nil
}

func (s *innodbStatus) last(name string, t trouble, at int64, emit func(metric.Sample)) {
	if !t.seen {
		return
	}
	h, ok := s.since[name]
	if !ok || h.when != t.when {
		h = happened{t.when, float64(at/1000) - (t.age / time.Second * time.Second).Seconds()}
		s.since[name] = h
	}
	emit(metric.Sample{Name: name, At: at, Value: h.unix})
}

// longestInnodb is how much of the text is read, in bytes: servers end it at a megabyte.
const longestInnodb = 2 << 20

// maxInnodbText bounds the text that is kept, bytes. The server cuts its own at a megabyte; what is long in it are
// transactions.
const maxInnodbText = 64 << 10

// Fill adds the text of the last reading.
func (s *innodbStatus) Fill(st *state.State) {
	st.EngineStatus = keepText(withoutSecrets(s.text), maxInnodbText)
}

// withoutSecrets returns the text with its statements as they may be kept and shown, see mytext.WithoutSecrets. A
// statement follows the line of its thread; whoever writes a line like the server's into one has what follows it judged
// by itself.
func withoutSecrets(text string) string {
	lines := strings.Split(text, "\n")
	ends := func(l string) bool {
		for _, begin := range []string{"***", "---", "===", "RECORD LOCKS", "TABLE LOCK", "Trx read view"} {
			if strings.HasPrefix(l, begin) {
				return true
			}
		}
		return false
	}
	var out []string
	for i := 0; i < len(lines); {
		out = append(out, lines[i])
		i++
		if l := lines[i-1]; !strings.Contains(l, " thread id ") || !strings.Contains(l, "query id ") {
			continue
		}
		from := i
		for i < len(lines) && !ends(lines[i]) {
			i++
		}
		if i > from {
			out = append(out, mytext.WithoutSecrets(strings.Join(lines[from:i], "\n")))
		}
	}
	return strings.Join(out, "\n")
}

// keepText makes a text valid and shortens it in the middle.
func keepText(t string, limit int) string {
	t = strings.ToValidUTF8(t, "?")
	if len(t) <= limit {
		return t
	}
	const note = "\n… cut …\n"
	half := (limit - len(note)) / 2
	head, tail := t[:half], t[len(t)-half:]
	return strings.ToValidUTF8(head, "") + note + strings.ToValidUTF8(tail, "")
}

// Package metric holds the values of monitoring: a Sample is one measurement of a metric, a Series
// its history.
//
// Names and labels follow Prometheus (https://prometheus.io/docs/concepts/data_model/) and, where
// it has the same metric, mysqld_exporter (mysql_global_status_questions, node_cpu_seconds_total).
package metric

import (
	"slices"
	"strings"
)

// Status of the server's clients, without what Dyno itself made the server count: counters and figures of the moment,
// by the label "variable", which is the status variable in lower case.
const (
	ClientStatusTotal = "dyno_client_status_total"
	ClientStatus      = "dyno_client_status"
)

// RowsReadTotal counts the rows that were read, of families that count them as one figure.
const RowsReadTotal = "dyno_rows_read_total"

// Family is what mysqld_exporter makes one metric of: status variables whose names begin alike.
type Family struct{ Prefix, Name, Label string }

// Of returns how one of the family is found.
func (f Family) Of(what string) (name string, by Label) { return f.Name, Label{f.Label, what} }

// Ref is Of as one value.
func (f Family) Ref(what string) Ref { return Ref{f.Name, Label{f.Label, what}} }

// Kind says how the values of a series may be compared over time.
type Kind uint8

const (
	// Gauge goes up and down; its value means something by itself.
	Gauge Kind = iota
	// Counter only grows, except when its server restarts; only its rate over a window means something.
	Counter
)

// String returns "gauge" or "counter".
func (k Kind) String() string {
	if k == Counter {
		return "counter"
	}
	return "gauge"
}

// MarshalText writes the kind as its name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name; an unknown one is an error.
func (k *Kind) UnmarshalText(b []byte) error {
	switch string(b) {
	case "gauge":
		*k = Gauge
	case "counter":
		*k = Counter
	default:
		return &KindError{Text: string(b)}
	}
	return nil
}

// KindError is the answer to a kind that is neither gauge nor counter.
type KindError struct{ Text string }

func (e *KindError) Error() string {
	return "unknown kind of metric " + strings.ToValidUTF8(e.Text, "?")
}

// Label is one dimension of a series.
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Labels is sorted by name and holds each name once. Samples of one series may share one Labels value: nobody
// changes it in place.
type Labels []Label

// L makes Labels from name, value, name, value…; an odd count is a programmer's error and panics.
func L(kv ...string) Labels {
	if len(kv)%2 != 0 {
		panic("BUG: metric.L needs pairs")
	}
	ls := make(Labels, 0, len(kv)/2)
	for i := 0; i < len(kv); i += 2 {
		ls = append(ls, Label{kv[i], kv[i+1]})
	}
	slices.SortFunc(ls, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return ls
}

// Get returns the value of the named label, "" when there is none.
func (ls Labels) Get(name string) string {
	for _, l := range ls {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// Compare orders label sets, -1, 0 or 1.
func (ls Labels) Compare(o Labels) int {
	return slices.CompareFunc(ls, o, func(a, b Label) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Value, b.Value)
	})
}

// Ref names a series: by its name and, unless By is the zero label, by one of its labels.
type Ref struct {
	Name string
	By   Label
}

// Labels returns the labels that the series is found by.
func (r Ref) Labels() []Label {
	if r.By == (Label{}) {
		return nil
	}
	return []Label{r.By}
}

// Is reports whether a sample is of the series.
func (r Ref) Is(s *Sample) bool {
	return s.Name == r.Name && (r.By == (Label{}) || s.Labels.Get(r.By.Name) == r.By.Value)
}

// Sample is one reading of one metric.
type Sample struct {
	Name   string
	Labels Labels
	Kind   Kind
	At     int64 // Unix milliseconds
	Value  float64
}

// longestText bounds names and values of labels, bytes: no server calls a thing by more.
const longestText = 4 << 10

// Overlong reports whether the name or a label has more than 4 KiB. Whoever keeps samples by the million must not keep
// such, and Prometheus' database panics over one of 16 MiB.
func (m *Sample) Overlong() bool {
	for i := range m.Labels {
		if len(m.Labels[i].Name) > longestText || len(m.Labels[i].Value) > longestText {
			return true
		}
	}
	return len(m.Name) > longestText
}

// Text returns how many bytes the name and the labels take.
func (m *Sample) Text() int {
	n := len(m.Name)
	for i := range m.Labels {
		n += len(m.Labels[i].Name) + len(m.Labels[i].Value)
	}
	return n
}

// Point is one reading of a series whose name is known.
type Point struct {
	At    int64   `json:"t"` // Unix milliseconds
	Value float64 `json:"v"`
}

// Series is the history of one metric with one set of labels; Points are in order of time, each time once.
type Series struct {
	Name   string  `json:"name"`
	Labels Labels  `json:"labels,omitempty"`
	Kind   Kind    `json:"kind"`
	Points []Point `json:"points"`
}

// Window returns the part of s with from ≤ At ≤ to (Unix milliseconds), sharing its points.
func (s Series) Window(from, to int64) Series {
	i, _ := slices.BinarySearchFunc(s.Points, from, func(p Point, t int64) int { return int(max(-1, min(1, p.At-t))) })
	j, _ := slices.BinarySearchFunc(s.Points, to+1, func(p Point, t int64) int { return int(max(-1, min(1, p.At-t))) })
	s.Points = s.Points[i:max(i, j)]
	return s
}

// Increase returns how much a counter grew between its first and last point, a fall counting as a restart from
// zero, and the seconds between them. It is not ok with fewer than two points.
func (s Series) Increase() (by, seconds float64, ok bool) {
	if len(s.Points) < 2 {
		return 0, 0, false
	}
	for i := 1; i < len(s.Points); i++ {
		if d := s.Points[i].Value - s.Points[i-1].Value; d >= 0 {
			by += d
		} else {
			by += s.Points[i].Value
		}
	}
	seconds = float64(s.Points[len(s.Points)-1].At-s.Points[0].At) / 1000
	return by, seconds, seconds > 0
}

// Rate returns a counter's growth per second between its first and last point.
func (s Series) Rate() (perSecond float64, ok bool) {
	by, sec, ok := s.Increase()
	if !ok {
		return 0, false
	}
	return by / sec, true
}

// Rates turns a counter into a gauge of its rate per second; each point stands at the end of its interval. An
// interval in which the counter fell (a restart) has no point.
func (s Series) Rates() Series {
	out := Series{Name: s.Name, Labels: s.Labels, Kind: Gauge}
	for i := 1; i < len(s.Points); i++ {
		a, b := s.Points[i-1], s.Points[i]
		if b.Value >= a.Value && b.At > a.At {
			out.Points = append(out.Points, Point{b.At, (b.Value - a.Value) * 1000 / float64(b.At-a.At)})
		}
	}
	return out
}

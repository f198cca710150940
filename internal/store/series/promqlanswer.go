package series

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Answer is the value of a PromQL expression. Its JSON is the member data of Prometheus' HTTP API: see
// https://prometheus.io/docs/prometheus/latest/querying/api/#expression-query-result-formats.
type Answer struct {
	Type     AnswerType
	Series   []AnswerSeries // of a matrix or a vector
	Scalar   metric.Point   // of a scalar; of a string only the time
	Text     string         // of a string
	Warnings []string       // the answer may not be what was meant: a rate of a gauge's name, a limit that cut it
	Infos    []string       // the expression could be better
}

// AnswerType is what sort of value an expression has.
type AnswerType string

// The types of answers.
const (
	Matrix AnswerType = "matrix" // series over time
	Vector AnswerType = "vector" // series at one moment: each has one point
	Scalar AnswerType = "scalar"
	Text   AnswerType = "string"
)

// AnswerSeries is one series of an answer.
type AnswerSeries struct {
	Labels metric.Labels // __name__ among them where the expression kept it
	Points []metric.Point
}

// cutNote is what Prometheus says when it left series out.
const cutNote = "results truncated due to limit"

// pointBytes is what a point takes in JSON, about.
const pointBytes = 32

// answer copies a result, for its own memory goes back to the engine. With more than most points, or labels that take
// more than those would, it is refused: an answer is in memory several times until it is sent, and whoever takes it may
// be slow.
func answer(v parser.Value, limit, most int) (Answer, error) {
	var a Answer
	full := func(n int) bool {
		if limit <= 0 || n < limit {
			return false
		}
		a.Warnings = append(a.Warnings, cutNote)
		return true
	}
	if err := tooMuch(v, limit, most); err != nil {
		return Answer{}, err
	}
	switch x := v.(type) {
	case promql.Matrix:
		a.Type = Matrix
		a.Series = make([]AnswerSeries, 0, len(x))
		for i := range x {
			if full(i) {
				break
			}
			if len(x[i].Histograms) > 0 {
				return Answer{}, fmt.Errorf("%s is a histogram, which this store does not support", x[i].Metric)
			}
			s := AnswerSeries{Labels: toLabels(x[i].Metric), Points: make([]metric.Point, len(x[i].Floats))}
			for j, p := range x[i].Floats {
				s.Points[j] = metric.Point{At: p.T, Value: p.F}
			}
			a.Series = append(a.Series, s)
		}
	case promql.Vector:
		a.Type, a.Series = Vector, make([]AnswerSeries, 0, len(x))
		for i := range x {
			if full(i) {
				break
			}
			if x[i].H != nil {
				return Answer{}, fmt.Errorf("%s is a histogram, which this store does not support", x[i].Metric)
			}
			a.Series = append(a.Series, AnswerSeries{
				Labels: toLabels(x[i].Metric),
				Points: []metric.Point{{At: x[i].T, Value: x[i].F}},
			})
		}
	case promql.Scalar:
		a.Type, a.Scalar = Scalar, metric.Point{At: x.T, Value: x.V}
	case promql.String:
		a.Type, a.Scalar.At, a.Text = Text, x.T, x.V
	default:
		return Answer{}, fmt.Errorf("a result of type %s is not supported", v.Type())
	}
	return a, nil
}

// tooMuch returns an error when the first series of a result, limit of them where there is one, have more than most
// points or labels that take more than those would.
func tooMuch(v parser.Value, limit, most int) error {
	points, text := 0, 0
	add := func(i, n int, ls labels.Labels) {
		if limit <= 0 || i < limit {
			points += n
			text += int(ls.ByteSize())
		}
	}
	switch x := v.(type) {
	case promql.Matrix:
		for i := range x {
			add(i, len(x[i].Floats), x[i].Metric)
		}
	case promql.Vector:
		for i := range x {
			add(i, 1, x[i].Metric)
		}
	}
	switch {
	case points > most:
		return fmt.Errorf("the answer has %d points, and %d are allowed: request fewer series, a shorter time or a "+
			"longer step", points, most)
	case text > pointBytes*most:
		return fmt.Errorf("the answer has %d bytes of labels, and %d are allowed: request fewer series, or sum over "+
			"some labels", text, pointBytes*most)
	}
	return nil
}

// MarshalJSON writes the answer as Prometheus does.
func (a Answer) MarshalJSON() ([]byte, error) {
	n := 64
	for i := range a.Series {
		n += 128 + pointBytes*len(a.Series[i].Points)
	}
	return a.AppendJSON(make([]byte, 0, n)), nil
}

// AppendJSON appends what MarshalJSON writes. A series of a matrix without points has none in JSON either: Prometheus
// has no such.
func (a Answer) AppendJSON(b []byte) []byte {
	b = append(b, `{"resultType":`...)
	b = appendString(b, string(a.Type))
	b = append(b, `,"result":`...)
	switch a.Type {
	case Scalar: // its time and a string's are written as any number in JSON is
		b = strconv.AppendFloat(append(b, '['), float64(a.Scalar.At)/1000, 'f', -1, 64)
		b = append(appendValue(append(b, ','), a.Scalar.Value), ']')
	case Text:
		b = strconv.AppendFloat(append(b, '['), float64(a.Scalar.At)/1000, 'f', -1, 64)
		b = append(b, ',')
		b = appendString(b, a.Text)
		b = append(b, ']')
	default:
		b = append(b, '[')
		for i := range a.Series {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"metric":{`...)
			for j, l := range a.Series[i].Labels {
				if j > 0 {
					b = append(b, ',')
				}
				b = appendString(b, l.Name)
				b = append(b, ':')
				b = appendString(b, l.Value)
			}
			if a.Type == Vector {
				b = append(b, `},"value":`...)
				for _, p := range a.Series[i].Points[:1] {
					b = appendPoint(b, p)
				}
			} else {
				b = append(b, `},"values":[`...)
				for j, p := range a.Series[i].Points {
					if j > 0 {
						b = append(b, ',')
					}
					b = appendPoint(b, p)
				}
				b = append(b, ']')
			}
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

func appendPoint(b []byte, p metric.Point) []byte {
	b = appendTime(append(b, '['), p.At)
	return append(appendValue(append(b, ','), p.Value), ']')
}

func appendValue(b []byte, v float64) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return append(strconv.AppendFloat(append(b, '"'), v, format, -1, 64), '"') // +Inf, -Inf and NaN are written so
}

// appendTime writes milliseconds as seconds, with three decimals or none.
func appendTime(b []byte, ms int64) []byte {
	if ms < 0 {
		b = append(b, '-')
		ms = -ms
	}
	b = strconv.AppendInt(b, ms/1000, 10)
	if f := ms % 1000; f != 0 {
		b = append(b, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
	}
	return b
}

// appendString writes a JSON string. Bytes that are no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				b = append(b, '\\', c)
			case c == '\n':
				b = append(b, `\n`...)
			case c == '\r':
				b = append(b, `\r`...)
			case c == '\t':
				b = append(b, `\t`...)
			case c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '&':
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			default:
				b = append(b, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r == '\u2028' || r == '\u2029' {
			b = append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		} else {
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return append(b, '"')
}

package digest_test

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	queryclass "github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
)

// truth is every value of every attribute of a log, by class and attribute key, read in the plainest way: it holds a
// whole log and knows only well-formed entries.
type truth map[string]map[string][]float64

var (
	entryHead  = regexp.MustCompile(`(?m)^(?:# Time: .*\n)?# User@Host: .*\n`)
	headFigure = regexp.MustCompile(`([A-Za-z]\w*): +(\S+)`)
	headLine   = regexp.MustCompile(
		`^(?:#.*|use [^;]*;|SET (?:last_insert_id=\d+,)?(?:insert_id=\d+,)?timestamp=[\d.]+;)$`)
)

// readTruth reads a log of a real server whose statements hold no line that looks like a header.
func readTruth(text string) truth {
	all := truth{}
	at := entryHead.FindAllStringIndex(text, -1)
	for i, x := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		head, sql, admin := "", "", false
		rest := text[x[1]:end]
		for rest != "" {
			line, next, _ := strings.Cut(rest, "\n")
			if command, ok := strings.CutPrefix(line, "# administrator command: "); ok {
				sql, admin = "administrator command: "+strings.TrimSuffix(command, ";"), true
				break
			}
			if !headLine.MatchString(line) {
				break
			}
			head += line + "\n"
			rest = next
		}
		if !admin {
			sql = strings.TrimSuffix(rest, ";\n")
		}
		id := queryclass.ID(mytext.Fingerprint(sql))
		if all[id] == nil {
			all[id] = map[string][]float64{}
		}
		for _, m := range headFigure.FindAllStringSubmatch(head, -1) {
			if v, err := strconv.ParseFloat(m[2], 64); err == nil {
				key := strings.ToLower(m[1])
				if admin && strings.HasPrefix(key, "rows_") {
					v = 0 // what is left of the statement before; see docs/digest.md
				}
				all[id][key] = append(all[id][key], v)
			}
		}
	}
	return all
}

// quantile returns the values between which a quantile may lie: those next to the rank q of sorted values, whatever
// rule is used to round the rank.
func quantile(sorted []float64, q float64) (low, high float64) {
	n := float64(len(sorted))
	return sorted[max(0, int(math.Floor(q*n))-1)], sorted[min(len(sorted)-1, int(math.Ceil(q*n)))]
}

// closeToTruth fails the test where median, 95 % or deviation of a class is not what the log's own values give: 1 % for
// the first two.
func closeToTruth(t *testing.T, ours report, all truth) {
	t.Helper()
	checked := 0
	for _, c := range ours.Classes {
		for key, f := range c.Attributes {
			v := slices.Clone(all[c.ID][key])
			if len(v) == 0 {
				continue // query_length is no line of the log
			}
			if uint64(len(v)) != f.Count {
				t.Errorf("%s %s: of %d values, the log has %d", c.ID, key, f.Count, len(v))
				continue
			}
			slices.Sort(v)
			sum, squares := 0.0, 0.0
			for _, x := range v {
				sum += x
			}
			for _, x := range v {
				squares += (x - sum/float64(len(v))) * (x - sum/float64(len(v)))
			}
			deviation := math.Sqrt(squares / math.Max(1, float64(len(v)-1)))
			for _, x := range []struct {
				name      string
				got       *float64
				low, high float64
			}{
				{"median", f.Median, first(quantile(v, 0.5)), second(quantile(v, 0.5))},
				{"95 %", f.P95, first(quantile(v, 0.95)), second(quantile(v, 0.95))},
				{"stddev", f.Stddev, deviation, deviation},
			} {
				if x.got == nil {
					t.Errorf("%s %s: no %s", c.ID, key, x.name)
					continue
				}
				checked++
				if *x.got < x.low-0.01*math.Abs(x.low)-1e-9 || *x.got > x.high+0.01*math.Abs(x.high)+1e-9 {
					t.Errorf("%s %s: %s is %v, want %v to %v within 1 %% (%d values)", c.ID, key, x.name,
						*x.got, x.low, x.high, len(v))
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d figures could be checked", checked)
	}
}

func first(a, _ float64) float64  { return a }
func second(_, b float64) float64 { return b }

func TestQuantile(t *testing.T) {
	f := func(v []float64, q, low, high float64) {
		t.Helper()
		if a, b := quantile(v, q); a != low || b != high {
			t.Errorf("quantile %v of %v is between %v and %v, want %v and %v", q, v, a, b, low, high)
		}
	}
	f([]float64{7}, 0.5, 7, 7)
	f([]float64{1, 2, 3, 4}, 0.5, 2, 3)
	f([]float64{1, 2, 3, 4, 5}, 0.5, 2, 4)
	f([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.95, 9, 10)
}

func TestReadTruth(t *testing.T) {
	all := readTruth("/usr/sbin/mysqld, Version: 5.6.14\n" +
		"# Time: 261121 12:00:00\n# User@Host: a[a] @ h []  Id: 5\n# Query_time: 0.5  Lock_time: 0.25 Rows_sent: 1  " +
		"Rows_examined: 2\nuse d;\nSET timestamp=1;\nSELECT 1;\n" +
		"# User@Host: a[a] @ h []\n# Query_time: 1.5  Lock_time: 0 Rows_sent: 1  Rows_examined: 3\nSET " +
		"timestamp=1;\nSELECT\n2;\n" +
		"# User@Host: a[a] @ h []\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\n# administrator " +
		"command: Quit;\n")
	want := func(sql, key string, values ...float64) {
		t.Helper()
		if got := all[queryclass.ID(mytext.Fingerprint(sql))][key]; !slices.Equal(got, values) {
			t.Errorf("%s of %q: %v, want %v", key, sql, got, values)
		}
	}
	want("SELECT 1", "query_time", 0.5, 1.5)
	want("SELECT 1", "rows_examined", 2, 3)
	want("administrator command: Quit", "query_time", 0.1)
	if len(all) != 2 {
		t.Errorf("%d classes: %v", len(all), all)
	}
}

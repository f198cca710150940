// Package sysbench runs the real sysbench for tests and benchmarks, and reads the report that it ends with.
package sysbench

import (
	"fmt"
	"regexp"
	"strconv"
)

// Report is the closing block of a run. Dyno prints the same block, so that Parse reads both.
type Report struct {
	Reads, Writes, Others, Queries uint64 // statements
	Transactions, Events           uint64
	Ignored, Reconnects            uint64
	TPS, QPS                       float64
	Seconds                        float64
	Min, Avg, Max, Sum             float64 // ms
	Percent                        int     // which percentile the next field is, 95 unless --percentile says otherwise
	Percentile                     float64 // ms
}

// The lines of the report, in order. Each is a whole line: what a script finds with them in sysbench's report it must
// find in Dyno's.
var lines = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^        read:                            (\d+)$`),
	regexp.MustCompile(`(?m)^        write:                           (\d+)$`),
	regexp.MustCompile(`(?m)^        other:                           (\d+)$`),
	regexp.MustCompile(`(?m)^        total:                           (\d+)$`),
	regexp.MustCompile(`(?m)^    transactions:                        (\d+) +\((\d+\.\d\d) per sec\.\)$`),
	regexp.MustCompile(`(?m)^    queries:                             \d+ +\((\d+\.\d\d) per sec\.\)$`),
	regexp.MustCompile(`(?m)^    ignored errors:                      (\d+) +\(\d+\.\d\d per sec\.\)$`),
	regexp.MustCompile(`(?m)^    reconnects:                          (\d+) +\(\d+\.\d\d per sec\.\)$`),
	regexp.MustCompile(`(?m)^    total time:                          (\d+\.\d{4})s$`),
	regexp.MustCompile(`(?m)^    total number of events:              (\d+)$`),
	regexp.MustCompile(`(?m)^         min:                         +(\d+\.\d\d)$`),
	regexp.MustCompile(`(?m)^         avg:                         +(\d+\.\d\d)$`),
	regexp.MustCompile(`(?m)^         max:                         +(\d+\.\d\d)$`),
	regexp.MustCompile(`(?m)^ +(\d+)th percentile: +(\d+\.\d\d)$`),
	regexp.MustCompile(`(?m)^         sum:                         +(\d+\.\d\d)$`),
}

// Parse finds the report in the output of a run. A line that is missing or has another form is an error that shows its
// pattern.
func Parse(output string) (r Report, err error) {
	at := 0
	into := [][]any{
		{&r.Reads},
		{&r.Writes},
		{&r.Others},
		{&r.Queries},
		{&r.Transactions, &r.TPS},
		{&r.QPS},
		{&r.Ignored},
		{&r.Reconnects},
		{&r.Seconds},
		{&r.Events},
		{&r.Min},
		{&r.Avg},
		{&r.Max},
		{&r.Percent, &r.Percentile},
		{&r.Sum},
	}
	for i, x := range lines {
		m := x.FindStringSubmatchIndex(output[at:])
		if m == nil {
			return r, fmt.Errorf("no line (after the ones before it) like %s", x)
		}
		for j, p := range into[i] {
			text := output[at+m[2*j+2] : at+m[2*j+3]]
			switch p := p.(type) {
			case *uint64:
				*p, err = strconv.ParseUint(text, 10, 64)
			case *int:
				*p, err = strconv.Atoi(text)
			case *float64:
				*p, err = strconv.ParseFloat(text, 64)
			}
			if err != nil {
				return r, err
			}
		}
		at += m[1]
	}
	return r, nil
}

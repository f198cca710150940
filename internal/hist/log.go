package hist

import (
	"fmt"
	"io"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Log writes histograms in the text format that HdrHistogram's tools read (HistogramLogProcessor, HistogramLogAnalyzer
// and others): version 1.3, with one line for each histogram. Durations in it are in nanoseconds, the column of the
// longest one in milliseconds.
type Log struct {
	w     io.Writer
	start time.Time
}

// NewLog writes the head of a log that begins at start.
func NewLog(w io.Writer, start time.Time) (*Log, error) {
	sec := float64(start.UnixMilli()) / 1e3
	_, err := fmt.Fprintf(w, "#[Logged by dyno]\n#[Histogram log format version 1.3]\n#[StartTime: %.3f (seconds "+
		"since epoch), %s]\n#[BaseTime: %.3f (seconds since epoch)]\n%s\n",
		sec, start.UTC().Format(time.RFC3339), sec,
		`"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`)
	if err != nil {
		return nil, fmt.Errorf("write histogram log: %w", err)
	}
	return &Log{w, start}, nil
}

// untaggable are the characters that would break a line of the log.
var untaggable = strings.NewReplacer(",", "_", " ", "_", "\n", "_", "\r", "_", "\t", "_")

// Interval writes what was recorded from a moment on, for so long, under a tag; "" is the default tag. The format has
// no place for durations above Highest: they count as Highest, while the column of the longest one tells the truth.
func (l *Log) Interval(tag string, at time.Time, length time.Duration, x *Histogram) error {
	h := x.h
	if x.over > 0 {
		h = hdr.Import(x.h.Export())
		_ = h.RecordValues(int64(Highest), int64(x.over))
	}
	b, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
	if err != nil {
		return fmt.Errorf("write histogram log: encode: %w", err)
	}
	if tag != "" {
		tag = "Tag=" + untaggable.Replace(tag) + ","
	}
	if _, err := fmt.Fprintf(l.w, "%s%.3f,%.3f,%.3f,%s\n", tag, max(at.Sub(l.start), 0).Seconds(), length.Seconds(),
		float64(x.max)/1e6, b); err != nil {
		return fmt.Errorf("write histogram log: %w", err)
	}
	return nil
}

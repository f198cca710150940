package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/userfile"
)

// hdrLog writes the histograms of every tick to a file that HdrHistogram's tools read.
type hdrLog struct {
	file *os.File
	buf  *bufio.Writer
	log  *hist.Log
	err  error // the first one: a log that is not complete is said to be so
}

// openHDRLog opens the file, before anything runs. What an earlier run left in it stays until there is something to put
// in its place.
func openHDRLog(path string) (*hdrLog, error) {
	f, err := userfile.Open(path, os.O_WRONLY)
	if err != nil {
		return nil, fmt.Errorf("write --hdr-log: %w", err)
	}
	return &hdrLog{file: f, buf: bufio.NewWriterSize(f, 1<<16)}, nil
}

// tick writes one line for each kind of operation, tagged with its name; the response times, where there are any, with
// "-response" after it. suffix tells the runs of a sweep apart.
func (l *hdrLog) tick(t loadresult.Tick, suffix string) {
	if l == nil || l.err != nil || t.Warm {
		return
	}
	if l.log == nil {
		if l.err = l.empty(); l.err != nil {
			return
		}
		if l.log, l.err = hist.NewLog(l.buf, t.At); l.err != nil {
			return
		}
	}
	for _, o := range t.Ops {
		l.interval(o.Name+suffix, t.At, t.Length, o.Latency)
		if o.Response != nil {
			l.interval(o.Name+"-response"+suffix, t.At, t.Length, o.Response)
		}
	}
	l.err = errors.Join(l.err, l.buf.Flush())
}

// empty makes room for the log; a pipe has nothing to be emptied of.
func (l *hdrLog) empty() error {
	fi, err := l.file.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return err
	}
	return l.file.Truncate(0)
}

func (l *hdrLog) interval(tag string, at time.Time, length time.Duration, h *hist.Histogram) {
	if l.err == nil {
		l.err = l.log.Interval(tag, at, length, h)
	}
}

// close ends the log and tells of everything that went wrong with it.
func (l *hdrLog) close() error {
	if l == nil {
		return nil
	}
	if err := errors.Join(l.err, l.buf.Flush(), l.file.Close()); err != nil {
		return fmt.Errorf("the histogram log %s is incomplete: %w", l.file.Name(), err)
	}
	return nil
}

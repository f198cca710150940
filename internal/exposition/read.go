package exposition

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Read reads a page in Text, as Write and all exporters write it, and calls emit for each sample whose name is wanted,
// in the order of the page. Time stamps and comments are left out. The error says which line is no sample, without the
// text of it; what came before was emitted.
func Read(page []byte, want func(name []byte) bool, emit func(name string, ls metric.Labels, v float64)) error {
	n := 0
	for line := range bytes.Lines(page) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		end := 0
		for end < len(line) && fits(line[end], end == 0) {
			end++
		}
		name, rest := line[:end], line[end:]
		if end == 0 || len(rest) > 0 && !bytes.ContainsRune([]byte(" \t{"), rune(rest[0])) {
			return noSample(n)
		}
		if !want(name) { // most of a page
			continue
		}
		ls, rest, ok := readLabels(rest)
		w := bytes.Fields(rest)
		if !ok || len(w) < 1 || len(w) > 2 {
			return noSample(n)
		}
		v, err := strconv.ParseFloat(string(w[0]), 64)
		if err != nil {
			return noSample(n)
		}
		emit(string(name), ls, v)
	}
	return nil
}

func noSample(line int) error {
	return fmt.Errorf("line %d is not a sample in Prometheus' text format", line)
}

// readLabels reads labels in braces, which may be missing, and returns what follows them.
func readLabels(b []byte) (ls metric.Labels, rest []byte, ok bool) {
	b = bytes.TrimLeft(b, " \t")
	if len(b) == 0 || b[0] != '{' {
		return nil, b, len(b) > 0
	}
	b = b[1:]
	for {
		b = bytes.TrimLeft(b, " \t,")
		if len(b) == 0 {
			return nil, nil, false
		}
		if b[0] == '}' {
			slices.SortFunc(ls, func(a, b metric.Label) int { return strings.Compare(a.Name, b.Name) })
			return ls, b[1:], true
		}
		name, after, found := bytes.Cut(b, []byte{'='})
		after = bytes.TrimLeft(after, " \t")
		if !found || len(after) == 0 || after[0] != '"' {
			return nil, nil, false
		}
		value, left, closed := readQuoted(after[1:])
		if !closed {
			return nil, nil, false
		}
		if value != "" { // an empty label is none
			ls = append(ls, metric.Label{Name: string(bytes.TrimSpace(name)), Value: value})
		}
		b = left
	}
}

// readQuoted reads up to the quote that ends a value.
func readQuoted(b []byte) (value string, rest []byte, ok bool) {
	var s strings.Builder
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return s.String(), b[i+1:], true
		case c == '\\' && i+1 < len(b):
			i++
			if b[i] == 'n' {
				s.WriteByte('\n')
			} else {
				s.WriteByte(b[i])
			}
		default:
			s.WriteByte(c)
		}
	}
	return "", nil, false
}

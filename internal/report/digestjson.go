package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/slowlog"
)

// DigestJSON writes a digest as one JSON object: the Report's fields by their JSON names, one class a line, so that a
// hundred thousand classes need no more memory than one, and lines can be searched and compared. Characters that cannot
// be seen are \u escapes; bytes that are no UTF-8 become U+FFFD, for JSON has no others. Lists are [] when they are
// empty, and figures that the source does not tell are null.
func DigestJSON(w io.Writer, r *digest.Report, o DigestOptions) error {
	c := digestClean(r, o)
	if c.Skipped == nil {
		c.Skipped = []slowlog.Skip{}
	}
	whole, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode digest: %w", err)
	}
	// Within strings every quote is escaped, so this is the key itself.
	head, tail, ok := bytes.Cut(whole, []byte(`"classes":null`))
	if !ok {
		return fmt.Errorf("BUG: encode digest: no list of classes in %.60s", whole)
	}
	var buf []byte
	out := newDigestOut(w)
	err = writeLines(out, head, tail, o.classes(r), func(k digest.Row) ([]byte, error) {
		var err error
		buf, err = appendClass(buf[:0], k)
		return buf, err
	})
	if err != nil {
		return err
	}
	return out.end("digest")
}

// writeLines writes a JSON object whose list of classes stands between head and tail, one element a line.
func writeLines[T any](out *digestOut, head, tail []byte, elements iter.Seq2[int, T],
	encode func(T) ([]byte, error),
) error {
	out.bytes(seen(head))
	out.text(`"classes":[`)
	n := 0
	for i, x := range elements {
		line, err := encode(x)
		if err != nil {
			return fmt.Errorf("encode class %d: %w", i, err)
		}
		if i > 0 {
			out.text(",")
		}
		out.text("\n")
		out.bytes(seen(line))
		if n++; out.err != nil {
			break
		}
	}
	if n > 0 {
		out.text("\n")
	}
	out.text("]")
	out.bytes(seen(tail))
	out.text("\n")
	return nil
}

// seen is escapeUnseen, quick where there is nothing to escape.
func seen(b []byte) []byte {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return escapeUnseen(b)
		}
	}
	return b
}

// appendClass appends what json.Marshal gives of a class. A class is its figures for the most part, and those go ten
// times as fast by hand.
func appendClass(dst []byte, k digest.Row) ([]byte, error) {
	figures := k.Attributes
	k.Attributes = nil
	whole, err := json.Marshal(k)
	if err != nil {
		return dst, err
	}
	head, tail, ok := bytes.Cut(whole, []byte(`"attributes":null`))
	if !ok {
		return dst, fmt.Errorf("BUG: no attributes in %.60s", whole)
	}
	dst = append(append(dst, head...), `"attributes":{`...)
	keys := make([]string, 0, len(figures))
	for key := range figures {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return dst, err
		}
		dst = append(append(dst, name...), ':')
		dst = appendFigures(dst, figures[key])
	}
	return append(append(dst, '}'), tail...), nil
}

func appendFigures(dst []byte, f digest.Figures) []byte {
	maybe := func(key string, v known.Value[float64]) {
		dst = append(dst, key...)
		if x, ok := v.Get(); ok {
			dst = appendNumber(dst, x)
		} else {
			dst = append(dst, "null"...)
		}
	}
	dst = strconv.AppendUint(append(dst, `{"count":`...), f.Count, 10)
	if f.Share.OK() {
		maybe(`,"share":`, f.Share)
	}
	dst = appendNumber(append(dst, `,"sum":`...), f.Sum)
	maybe(`,"min":`, f.Min)
	maybe(`,"max":`, f.Max)
	maybe(`,"avg":`, f.Mean())
	maybe(`,"p95":`, f.P95)
	maybe(`,"stddev":`, f.Stddev)
	maybe(`,"median":`, f.Median)
	if f.Estimated {
		dst = append(dst, `,"estimated":true`...)
	}
	return append(dst, '}')
}

// appendNumber appends a finite number as encoding/json writes it: as ECMAScript does, in the fewest digits that read
// back as the same.
func appendNumber(dst []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		dst = strconv.AppendFloat(dst, v, 'e', -1, 64)
		if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' { // e-09 is e-9 there
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
		return dst
	}
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}

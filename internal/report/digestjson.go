package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// DigestJSON writes a digest as one JSON object: the Report's fields by their JSON names, one class a line, so that a
// hundred thousand classes need no more memory than one, and lines can be searched and compared. Characters that cannot
// be seen are \u escapes; bytes that are no UTF-8 become U+FFFD, for JSON has no others. Lists are [] when they are
// empty, and figures that the source does not tell are null.
func DigestJSON(w io.Writer, r *digest.Report, o DigestOptions) error {
	c := digestClean(r, o)
	if c.Skipped == nil {
		c.Skipped = []digest.Skip{}
	}
	return writeClasses(w, "digest", c, o.classes(r))
}

// estimatedMean finds the mean of figures that are estimated, which have none: see digest.Figures.Mean.
var estimatedMean = lazyregexp.New(`"avg":[^,{]*(,[^{}]*"estimated":true)`)

// writeClasses writes whole, which is what, as a JSON object with the classes in the place of its own, one a line.
func writeClasses[T any](w io.Writer, what string, whole any, classes iter.Seq2[int, T]) error {
	b, err := json.Marshal(whole)
	if err != nil {
		return fmt.Errorf("encode %s: %w", what, err)
	}
	// Within strings every quote is escaped, so this is the key itself.
	head, tail, ok := bytes.Cut(b, []byte(`"classes":null`))
	if !ok {
		return fmt.Errorf("BUG: encode %s: no list of classes in %.60s", what, b)
	}
	out, end := newDigestOut(w), "]"
	out.text(string(escapeUnseen(head)) + `"classes":[`)
	for i, x := range classes {
		line, err := json.Marshal(x)
		if err != nil {
			return fmt.Errorf("encode class %d: %w", i, err)
		}
		if i > 0 {
			out.text(",")
		}
		out.text("\n" + string(estimatedMean.ReplaceAll(escapeUnseen(line), []byte(`"avg":null$1`))))
		if end = "\n]"; out.err != nil {
			break
		}
	}
	out.text(end + string(escapeUnseen(tail)) + "\n")
	return out.end(what)
}

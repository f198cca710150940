package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/digest"
)

// followLog prints a report every now and then and one at the end. Ctrl-C is its ordinary end. JSON has one report a
// line.
func (j *digestJob) followLog(ctx context.Context, e *env, path string) error {
	if j.format == "json" {
		whole := j.write
		j.write = func(w io.Writer, d app.Digest) error {
			var b, line bytes.Buffer
			if err := whole(&b, d); err != nil {
				return err
			}
			if err := json.Compact(&line, b.Bytes()); err != nil {
				return err
			}
			line.WriteByte('\n')
			_, err := line.WriteTo(w)
			return err
		}
	}
	o := digest.Following{Config: j.config, State: j.state, Mark: j.mark(), Every: time.Second}
	last := time.Now()
	d, err := app.FollowLog(ctx, path, o, j.show, func(d app.Digest) error {
		if j.interval == 0 || time.Since(last) < j.interval {
			return nil
		}
		last = time.Now()
		return j.print(e, d)
	})
	if err != nil {
		return err
	}
	return errors.Join(j.print(e, d), skippedOf(&d.Report))
}

// mark names what the figures of a state depend on, besides what the state keeps of the configuration itself.
func (j *digestJob) mark() string {
	var parts []string
	for _, p := range []struct{ name, value string }{{"filter", j.filter}, {"since", j.since}, {"until", j.until}} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	if j.sample > 0 {
		parts = append(parts, fmt.Sprint("sample ", j.sample))
	}
	return strings.Join(parts, ", ")
}

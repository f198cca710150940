package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Encode writes the JSON form: the same snapshot always gives the same bytes.
func (s *Snapshot) Encode() ([]byte, error) {
	c := *s
	c.Series = slices.Clone(s.Series)
	slices.SortFunc(c.Series, func(a, b metric.Series) int {
		if d := strings.Compare(a.Name, b.Name); d != 0 {
			return d
		}
		return a.Labels.Compare(b.Labels)
	})
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(&c); err != nil {
		return nil, fmt.Errorf("encode snapshot: %w", err)
	}
	return buf.Bytes(), nil
}

// Decode reads the JSON form. The error of a damaged one names line and column; one of another format is refused.
func Decode(b []byte) (*Snapshot, error) {
	var head struct {
		Format *int `json:"dyno_snapshot"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("read snapshot: %w", at(b, err))
	}
	if head.Format == nil {
		return nil, errors.New("read snapshot: this JSON has no member dyno_snapshot: it is not a snapshot that dyno " +
			"diagnose --save wrote")
	}
	if *head.Format != Format {
		return nil, fmt.Errorf("read snapshot: it has format %d, this dyno reads format %d: use the version that "+
			"wrote it", *head.Format, Format)
	}
	var s Snapshot
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("read snapshot: %w", at(b, err))
	}
	return &s, s.validate()
}

// validate refuses what no capture can have written and what would make judgement count wrong.
func (s *Snapshot) validate() error {
	if !s.From.Before(s.To) {
		return fmt.Errorf("read snapshot: its window ends (%s) before it begins (%s)", s.To.Format("15:04:05"),
			s.From.Format("15:04:05"))
	}
	for _, x := range s.Series {
		for i := 1; i < len(x.Points); i++ {
			if x.Points[i].At <= x.Points[i-1].At {
				return fmt.Errorf("read snapshot: series %s: its points are not in order of time", x.Name)
			}
		}
	}
	for _, c := range s.Classes {
		if c.ID == "" || c.TimeSec < 0 {
			return fmt.Errorf("read snapshot: class %q has no id or a negative time", c.ID)
		}
	}
	return nil
}

func at(b []byte, err error) error {
	off := int64(-1)
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		off = max(syntax.Offset-1, 0) // the offending byte itself
	case errors.As(err, &typ):
		off = typ.Offset
	}
	if off < 0 {
		return err
	}
	line, col := position(b, off)
	return fmt.Errorf("line %d column %d: %w", line, col, err)
}

func position(b []byte, off int64) (line, col int) {
	b = b[:min(int(off), len(b))]
	return bytes.Count(b, []byte("\n")) + 1, len(b) - bytes.LastIndexByte(b, '\n')
}

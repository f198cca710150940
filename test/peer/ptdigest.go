package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Number is a figure of pt-query-digest's JSON, which writes some as strings; NaN when it has none.
type Number float64

// UnmarshalJSON reads either form.
func (n *Number) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `"`)
	if s == "null" || s == "" {
		*n = Number(math.NaN())
		return nil
	}
	v, err := strconv.ParseFloat(s, 64)
	*n = Number(v)
	return err
}

// PtMetric is what pt-query-digest says of an attribute: of a number its figures, of a flag Yes. What it does not say
// is nil.
type PtMetric struct {
	Sum, Min, Max, Avg, Yes *Number
}

// PtClass is one of its classes.
type PtClass struct {
	Checksum, Fingerprint, Distillate string
	Count                             Number `json:"query_count"`
	First                             string `json:"ts_min"`
	Last                              string `json:"ts_max"`
	// by the server's name; without those that are zero throughout
	Metrics map[string]PtMetric
}

// PtReport is its JSON.
type PtReport struct {
	Global struct {
		Count  Number `json:"query_count"`
		Unique Number `json:"unique_query_count"`
	}
	Classes []PtClass
}

// PtArgs are the options for all classes as JSON without samples.
var PtArgs = []string{"--no-version-check", "--limit", "10000000", "--output", "json-anon"}

// PtDigest runs pt-query-digest, which must be installed, on logs.
func PtDigest(ctx context.Context, args ...string) (PtReport, error) {
	c := exec.CommandContext(ctx, "pt-query-digest", append(PtArgs[:len(PtArgs):len(PtArgs)], args...)...)
	c.Env = append(os.Environ(), "TZ=UTC", "HOME=/nonexistent") // no configuration of the user's
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return PtReport{}, fmt.Errorf("run pt-query-digest: %w: %s", err, errs.String())
	}
	return DecodePt(out.String())
}

// DecodePt reads the JSON of pt-query-digest, whatever it says before.
func DecodePt(text string) (r PtReport, err error) {
	if err := json.Unmarshal([]byte(text[max(0, strings.IndexByte(text, '{')):]), &r); err != nil {
		return r, fmt.Errorf("read pt-query-digest's JSON: %w", err)
	}
	return r, nil
}

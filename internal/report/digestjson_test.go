package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/dyno-perf/dyno/internal/digest"
)

// TestEstimatedMean: estimated figures have no mean, whatever else is called avg, and all else is as encoding/json has
// it.
func TestEstimatedMean(t *testing.T) {
	k := digest.Row{
		ID: `"classes":null`, Fingerprint: `{"avg":1,"estimated":true} <&>`, Item: "x",
		Attributes: map[string]digest.Figures{
			"a\"<": {Sum: 2, Avg: 3}, "avg": {Count: 4, Avg: 5, Estimated: true}, "c": {Avg: 6},
			"d": {Avg: 7, Estimated: true},
		},
	}
	want, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	for _, mean := range []string{"5", "7"} {
		want = bytes.Replace(want, []byte(`"avg":`+mean+`,`), []byte(`"avg":null,`), 1)
	}
	var b bytes.Buffer
	if err := DigestJSON(&b, &digest.Report{Classes: []digest.Row{k}}, DigestOptions{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b.Bytes(), append(append([]byte("[\n"), want...), "\n]"...)) {
		t.Errorf("got  %s\nwant %s", b.Bytes(), want)
	}
}

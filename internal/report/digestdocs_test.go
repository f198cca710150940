package report_test

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
)

// TestDigestManualNamesEveryKey holds docs/digest.md to the JSON.
func TestDigestManualNamesEveryKey(t *testing.T) {
	b, err := os.ReadFile("../../docs/digest.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := string(b)
	seen := map[reflect.Type]bool{reflect.TypeFor[time.Time](): true}
	n := 0
	var walk func(x reflect.Type)
	walk = func(x reflect.Type) {
		switch x.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
			walk(x.Elem())
		case reflect.Struct:
			if seen[x] || !strings.HasSuffix(x.PkgPath(), "/digest") && !strings.HasSuffix(x.PkgPath(), "/slowlog") {
				return
			}
			seen[x] = true
			for i := range x.NumField() {
				f := x.Field(i)
				key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if key != "-" && key != "" {
					n++
					if !strings.Contains(manual, "`"+key+"`") && !strings.Contains(manual, "`"+key+"[]`") {
						t.Errorf("the manual does not name %s of %s", key, x.Name())
					}
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[digest.Report]())
	walk(reflect.TypeFor[digest.Comparison]())
	if n < 80 {
		t.Errorf("only %d keys were looked at", n)
	}
}

func BenchmarkDigest(b *testing.B) {
	r := digestSample()
	k := r.Classes[0]
	for key, f := range r.Global.Attributes {
		k.Attributes[key] = f
		for _, s := range []string{"_a", "_b"} {
			k.Attributes[key+s] = f
		}
	}
	r.Classes = nil
	for range 1000 {
		r.Classes = append(r.Classes, k)
	}
	for form, f := range digestForms {
		b.Run(form, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var n int64
				if err := f(writerFunc(func(x []byte) (int, error) { n += int64(len(x)); return len(x), nil }), r,
					digestOptions); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(n)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "us/class")
		})
	}
}

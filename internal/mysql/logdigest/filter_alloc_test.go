//go:build !race

package logdigest

import "testing"

// The race detector makes pools forget.
func TestFilterAllocatesNothing(t *testing.T) {
	x,
		err := ParseFilter(
		`id == 0123456789ABCDEF || Query_time > 0.5 && (db == "shop" || user == 'root') && sql =~ /where/i && !Filesort && fingerprint =~ /^insert/ && Rows_affected > 0 || host != "x"`)
	if err != nil {
		t.Fatal(err)
	}
	e := sampleEntry()
	match := x.Match
	if !match(nil, e) {
		t.Fatal("not chosen")
	}
	if n := testing.AllocsPerRun(100, func() { match(nil, e) }); n > 0 {
		t.Errorf("a match allocates %v times", n)
	}
}

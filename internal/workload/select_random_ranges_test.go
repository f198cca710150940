package workload

import (
	"strings"
	"testing"
)

func TestRandomRanges(t *testing.T) {
	checkShape(t, RandomRanges{}, nil, "SELECT count(k) FROM sbtest1 WHERE k BETWEEN # AND #"+
		strings.Repeat(" OR k BETWEEN # AND #", 9))
	checkShape(t, RandomRanges{}, map[string]string{"number-of-ranges": "1"}, "SELECT count(k) FROM sbtest1 WHERE k "+
		"BETWEEN # AND #")
	refuses(t, RandomRanges{}, map[string]string{"number-of-ranges": "0"}, "from 1")
	g := build(t, RandomRanges{}, map[string]string{"delta": "17"}).Generator(1, 0)
	for range 20 {
		args := calls(t, g)[0].Args
		for i := 0; i < len(args); i += 2 {
			if d := int64(args[i+1].Bits()) - int64(args[i].Bits()); d != 17 {
				t.Fatalf("a range is %d wide", d)
			}
		}
	}
}

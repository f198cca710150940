package catalog

import "testing"

func TestSize(t *testing.T) {
	f := func(dataType string, octets, precision, scale, fraction, want int) {
		t.Helper()
		if got := size(dataType, octets, precision, scale, fraction); got != want {
			t.Errorf("%s(%d,%d): got %d, want %d", dataType, precision, scale, got, want)
		}
	}
	f("int", 0, 10, 0, 0, 4)
	f("bigint", 0, 20, 0, 0, 8)
	f("varchar", 160, 0, 0, 0, 160)
	f("decimal", 0, 18, 9, 0, 8) // the manual's examples
	f("decimal", 0, 20, 6, 0, 10)
	f("decimal", 0, 65, 30, 0, 16+14)
	f("datetime", 0, 0, 0, 0, 5)
	f("datetime", 0, 0, 0, 6, 8)
	f("timestamp", 0, 0, 0, 1, 5)
	f("time", 0, 0, 0, 3, 5)
	f("bit", 0, 9, 0, 0, 2)
	f("geometry", 0, 0, 0, 0, 0)
	f("longtext", 4294967295, 0, 0, 0, 4294967295)
}

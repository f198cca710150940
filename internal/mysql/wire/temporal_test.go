package wire

import "testing"

func TestTemporal(t *testing.T) {
	date := func(p string, clock bool, decimals byte, want string) {
		t.Helper()
		got, ok := appendDate(nil, []byte(p), clock, decimals)
		if !ok {
			got = []byte("malformed")
		}
		if string(got) != want {
			t.Errorf("% x: %s, want %s", p, got, want)
		}
	}
	date("", false, 0, "0000-00-00")
	date("", true, 0, "0000-00-00 00:00:00")
	date("", true, 2, "0000-00-00 00:00:00.00")
	date("\xe8\x07\x02\x1d", false, 0, "2024-02-29")
	date("\x01\x00\x02\x1d", false, 0, "0001-02-29")
	date("\xe8\x07\x02\x1d", true, 31, "2024-02-29 00:00:00")
	date("\xe8\x07\x02\x1d\x01\x02\x03", true, 0, "2024-02-29 01:02:03")
	date("\xe8\x07\x02\x1d\x01\x02\x03", true, 6, "2024-02-29 01:02:03.000000")
	date("\xe8\x07\x02\x1d\x17\x3b\x3b\x3f\x42\x0f\x00", true, 6, "2024-02-29 23:59:59.999999")
	date("\xe8\x07\x02\x1d\x17\x3b\x3b\x3f\x42\x0f\x00", true, 1, "2024-02-29 23:59:59.9")
	date("\xe8\x07\x02\x1d\x17\x3b\x3b\x3f\x42\x0f\x00", true, 31, "2024-02-29 23:59:59.999999")
	date("\xe8\x07\x02\x1d\x17\x3b\x3b\x40\x42\x0f\x00", true, 6, "malformed")
	date("\xe8\x07\x02", true, 0, "malformed")
	date("\xe8\x07\x02\x1d\x17\x3b\x3b\x00\x00\x00\x00\x00", true, 0, "malformed")
	clock := func(p string, decimals byte, want string) {
		t.Helper()
		got, ok := appendTime(nil, []byte(p), decimals)
		if !ok {
			got = []byte("malformed")
		}
		if string(got) != want {
			t.Errorf("% x: %s, want %s", p, got, want)
		}
	}
	clock("", 0, "00:00:00")
	clock("", 3, "00:00:00.000")
	clock("\x00\x00\x00\x00\x00\x01\x02\x03", 0, "01:02:03")
	clock("\x01\x22\x00\x00\x00\x16\x3b\x3b", 0, "-838:59:59")
	clock("\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00", 6, "-00:00:00.000001")
	clock("\x00\xff\xff\xff\xff\xff\xff\xff", 0, "103079215335:255:255")
	clock("\x00\x00", 0, "malformed")
}

package slowlog

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestNumber(t *testing.T) {
	f := func(in string, want float64, length int) {
		t.Helper()
		for _, after := range []string{
			"", " ", "\n", "\r\n", "\tx", "                    ", "\n# Rows_affected: 1",
			"\r\n# Rows_affected: 1",
		} {
			if got, end := number([]byte("x: "+in+after), 3); end-3 != length && (end != -1 || length != -1) ||
				end > 0 && got != want {
				t.Errorf("%q: got %v, %d", in+after, got, end)
			}
		}
	}
	bad := func(in string) { t.Helper(); f(in, 0, -1) }
	f("0", 0, 1)
	f("7", 7, 1)
	f("0.000012", 0.000012, 8)
	f("123.456789", 123.456789, 10)
	f("1234567", 1234567, 7)
	f("1234567.000001", 1234567.000001, 14)
	f("12345678", 12345678, 8)
	f("98765432.5", 98765432.5, 10)
	f("5.25", 5.25, 4)
	f("0.0000", 0, 6)
	f("5.1234567891", 5.1234567891, 12)
	f("18446744073709551615", 18446744073709551615, 20)
	f("18446744073709.551615", 18446744073709.551615, 21)
	f("9007199254740991", 9007199254740991, 16)
	bad("")
	bad("x")
	bad("-1")
	bad("1x")
	bad("1.")
	bad(".5")
	bad("1.2.3")
	bad("1.234567.8")
	bad("1e5")
	bad("0.12345x")
	bad("1:")
	bad("12\x00")
	bad("12\xff")
	bad("/")
	bad("1234567:")
	bad(strings.Repeat("9", 400))
	bad(strings.Repeat("9", 30) + ".")
	bad(strings.Repeat("9", 30) + ".1.2")

	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		s := strconv.FormatFloat(math.Exp(r.NormFloat64()*8), 'f', r.IntN(10), 64)
		want, _ := strconv.ParseFloat(s, 64)
		got, end := number([]byte(s+" Lock_time: 0.00001"), 0)
		if end != len(s) || math.Abs(got-want) > want*1e-15 || len(s) < 16 && got != want {
			t.Fatalf("%s: got %v, %d", s, got, end)
		}
	}
}

func TestNatural(t *testing.T) {
	f := func(in string, want uint64, end int) {
		t.Helper()
		for _, pad := range []string{"", " xyz", ";xyzxyzxyz"} {
			if got, e := natural([]byte(in+pad), 0); e != end || e > 0 && got != want {
				t.Errorf("%q: got %d, %d", in+pad, got, e)
			}
		}
	}
	f("0", 0, 1)
	f("12345", 12345, 5)
	f("123456", 123456, 6)
	f("1795246414", 1795246414, 10)
	f("9999999999999999999", 9999999999999999999, 19)
	f("99999999999999999999", 0, -1)
	f("", 0, -1)
	f("a1", 0, -1)
}

package workload

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func draws(t *testing.T, kind string, n, count int) []int {
	t.Helper()
	v, err := Settle(oltpOptions(), map[string]string{"rand-type": kind})
	if err != nil {
		t.Fatal(err)
	}
	d, err := distribute(v, n)
	if err != nil {
		t.Fatal(err)
	}
	s := newSource(1, 1)
	out := make([]int, count)
	for i := range out {
		out[i] = d.draw(s)
		if out[i] < 1 || out[i] > n {
			t.Fatalf("%s drew %d of 1 to %d", kind, out[i], n)
		}
	}
	slices.Sort(out)
	return out
}

// TestDistributionsEqualSysbenchs draws the same number from each distribution as sysbench does and compares the two
// samples (Kolmogorov and Smirnov).
func TestDistributionsEqualSysbenchs(t *testing.T) {
	if testing.Short() {
		t.Skip("needs sysbench")
	}
	if _, err := exec.LookPath("sysbench"); err != nil {
		t.Fatalf("install sysbench 1.0: %v", err)
	}
	const count = 100_000
	script := filepath.Join(t.TempDir(), "draw.lua")
	lua := fmt.Sprintf(`sysbench.cmdline.options = {kind = {"", "special"}, n = {"", 1}}
function event() for i = 1, %d do print(sysbench.rand[sysbench.opt.kind](1, sysbench.opt.n)) end end`, count)
	if err := os.WriteFile(script, []byte(lua), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(kind string, n int) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "sysbench", "--verbosity=0", "--events=1", "--rand-seed=7", script,
			"--kind="+kind, "--n="+strconv.Itoa(n), "run").Output()
		if err != nil {
			t.Fatal(err)
		}
		var theirs []int
		for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
			x, err := strconv.Atoi(strings.TrimSpace(sc.Text()))
			if err != nil {
				t.Fatalf("sysbench says %q", sc.Text())
			}
			theirs = append(theirs, x)
		}
		if len(theirs) != count {
			t.Fatalf("sysbench drew %d numbers", len(theirs))
		}
		slices.Sort(theirs)
		ours := draws(t, kind, n, count)
		// The limit at one in ten million, and a little for sysbench's own rounding to whole numbers.
		limit := math.Sqrt(-math.Log(1e-7/2)/2*2/count) + 0.002
		if d := distanceOfSamples(ours, theirs); d > limit {
			t.Errorf("%s of 1 to %d: the distributions differ by %.4f, more than chance allows (%.4f)", kind, n, d,
				limit)
		}
	}
	kinds := []string{randUniform, randSpecial, randGaussian, randPareto}
	if strings.Contains(sysbench(t, "--help"), randZipfian) { // releases after 1.0.20
		kinds = append(kinds, randZipfian)
	}
	for _, kind := range kinds {
		f(kind, 1_000_000)
		f(kind, 10_000)
	}
	// The test itself must tell distributions apart.
	if d := distanceOfSamples(draws(t, randSpecial, 10_000, count), draws(t, randGaussian, 10_000, count)); d < 0.1 {
		t.Errorf("special and gaussian differ by %.4f only", d)
	}
}

// distanceOfSamples is the largest difference between the shares of two sorted samples that do not exceed a value.
func distanceOfSamples(a, b []int) (most float64) {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		x := min(a[i], b[j])
		for i < len(a) && a[i] == x {
			i++
		}
		for j < len(b) && b[j] == x {
			j++
		}
		most = max(most, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return most
}

func TestDrawsStayInSmallTables(t *testing.T) {
	for _, kind := range []string{randUniform, randSpecial, randGaussian, randPareto, randZipfian} {
		for _, n := range []int{1, 2, 3, 10, 101} {
			draws(t, kind, n, 2000)
		}
	}
}

func TestDigitsAreEven(t *testing.T) {
	s := newSource(1, 1)
	var count [10]int
	var buf [cLength]byte
	const n = 2000
	for range n {
		s.digits(buf[:])
		for i, c := range buf {
			if (c == '-') != (i%12 == 11) {
				t.Fatalf("%s", buf[:])
			}
			if c != '-' {
				count[c-'0']++
			}
		}
	}
	for d, k := range count {
		if want := float64(n * 11); math.Abs(float64(k)-want) > 6*math.Sqrt(want) {
			t.Errorf("digit %d came %d times, want about %.0f", d, k, want)
		}
	}
}

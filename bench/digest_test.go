//go:build bench

package bench

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/dyno-perf/dyno/test/peer"
)

// used is what a run has cost, as bench/spawn prints it.
type used struct {
	Seconds, User, System float64
	Peak                  int64
	Code                  int
}

// digestBench runs programs on logs.
type digestBench struct {
	dir   string
	spawn string
	cpus  []int
}

// TestDigest prints the tables of bench/digest.sh.
func TestDigest(t *testing.T) {
	if os.Getenv("DYNO") == "" {
		t.Skip("bench/digest.sh runs it")
	}
	wanted, err := regexp.Compile(os.Getenv("DIGEST_LOGS"))
	if err != nil {
		t.Fatalf("DIGEST_LOGS: %v", err)
	}
	b := &digestBench{dir: cmp.Or(os.Getenv("DIGEST_DIR"), "/var/tmp"), cpus: ownCPUs(t)}
	if b.dir, err = os.MkdirTemp(b.dir, "dyno-digest-"); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(b.dir)
	b.spawn = filepath.Join(b.dir, "spawn")
	if out, err := exec.Command("go", "build", "-o", b.spawn, "github.com/dyno-perf/dyno/bench/spawn").
		CombinedOutput(); err != nil {
		t.Fatalf("build spawn: %v\n%s", err, out)
	}
	busy, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	size := int64(number("DIGEST_MB", 200)) << 20
	fmt.Printf("%d CPUs, load average before: %s\n", len(b.cpus), strings.Join(strings.Fields(string(busy))[:3], " "))
	stolen, all := steal(t)

	var goals tally
	fmt.Printf("\nWhole runs with the default report, logs of %d MB in the page cache; medians of %d rounds, and the "+
		"range of the ratios of the rounds.\n\n",
		size>>20, number("DIGEST_ROUNDS", 3))
	fmt.Printf("| %-38s | n | %-15s | %9s | %9s | %-22s | %-14s |\n", "log, CPUs, beside", "figure", "Dyno", "peer",
		"ratio (range)", "goal")
	fmt.Printf("|%s|---|%s|%s:|%s:|%s|%s|\n", strings.Repeat("-", 40), strings.Repeat("-", 17), strings.Repeat("-", 10),
		strings.Repeat("-", 10), strings.Repeat("-", 24), strings.Repeat("-", 16))
	var said []string
	for _, l := range []*digestLog{
		{name: "full, 60 classes", full: true, classes: 60},
		{name: "full, 25000 classes", full: true, classes: 25_000},
		{name: "classic, 60 classes", classes: 60},
		{name: "classic, 25000 classes", classes: 25_000},
	} {
		if !wanted.MatchString(l.name) || number("DIGEST_ROUNDS", 3) == 0 {
			continue
		}
		l.path = filepath.Join(b.dir, "slow.log")
		l.write(t, size)
		goals.add(b.beside(t, l))
		note, g := b.agree(t, l)
		said = append(said, note)
		goals.add(g)
	}
	fmt.Println()
	for _, s := range said {
		fmt.Println(s)
	}
	goals.add(b.compressed(t, size))
	goals.add(b.memory(t, size))
	s, a := steal(t)
	fmt.Printf("\nThe hypervisor took %.1f %% of the CPUs' time. %d of %d goals hold.\n",
		float64(s-stolen)/float64(max(1, a-all))*100, goals.held, goals.all)
}

// run runs a command on the first n CPUs of this process, which must end well, and returns what it printed, too.
func (b *digestBench) run(t *testing.T, n int, argv ...string) (u used, out string) {
	t.Helper()
	var cpus []string
	for _, c := range b.cpus[:n] {
		cpus = append(cpus, strconv.Itoa(c))
	}
	file := filepath.Join(b.dir, "out")
	c := exec.CommandContext(t.Context(), b.spawn, append([]string{strings.Join(cpus, ","), file}, argv...)...)
	c.Env = append(os.Environ(), "DYNO_HOME="+b.dir, "HOME="+b.dir, "TZ=UTC")
	var said, errs bytes.Buffer
	c.Stdout, c.Stderr = &said, &errs
	err := c.Run()
	if err == nil {
		err = json.Unmarshal(said.Bytes(), &u)
	}
	if err != nil || u.Code != 0 {
		t.Fatalf("%s: code %d, %v\n%s", strings.Join(argv, " "), u.Code, err, errs.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return u, string(text)
}

func (b *digestBench) dyno(args ...string) []string {
	return append([]string{os.Getenv("DYNO"), "digest"}, args...)
}

// often runs Dyno several times and returns the medians of its time and CPU time, and the largest peak.
func (b *digestBench) often(t *testing.T, cpus int, args ...string) (seconds, cpu float64, peak int64) {
	t.Helper()
	var all, busy []float64
	for range number("DIGEST_REPEAT", 5) {
		u, _ := b.run(t, cpus, b.dyno(args...)...)
		all, busy = append(all, u.Seconds), append(busy, u.User+u.System)
		peak = max(peak, u.Peak)
	}
	return median(all), median(busy), peak
}

// beside measures Dyno on one CPU and on two, and the peers on one, which is all they use.
func (b *digestBench) beside(t *testing.T, l *digestLog) (goals tally) {
	t.Helper()
	mb := float64(l.bytes) / 1e6
	var one, two, pt, slow, memory, ptMemory, cpu, ptCPU []float64
	dumpslow := peer.Dumpslow()
	b.run(t, 1, b.dyno(l.path)...) // the log into the page cache, the program too
	for i := range number("DIGEST_ROUNDS", 3) {
		steps := []func(){
			func() {
				s, c, peak := b.often(t, 1, l.path)
				one, cpu, memory = append(one, mb/s), append(cpu, mb/c), append(memory, float64(peak)/1e6)
				if len(b.cpus) > 1 {
					s, _, peak = b.often(t, 2, l.path)
					two, memory = append(two, mb/s), append(memory, float64(peak)/1e6)
				}
			},
			func() {
				u, _ := b.run(t, 1, "pt-query-digest", "--no-version-check", l.path)
				pt, ptCPU, ptMemory = append(pt, mb/u.Seconds), append(ptCPU, mb/(u.User+u.System)),
					append(ptMemory, float64(u.Peak)/1e6)
			},
			func() {
				if dumpslow != nil {
					u, _ := b.run(t, 1, append(dumpslow[:len(dumpslow):len(dumpslow)], l.path)...)
					slow = append(slow, mb/u.Seconds)
				}
			},
		}
		for k := range steps { // another one begins each round
			steps[(i+k)%len(steps)]()
		}
	}
	goals.add(row(l.name+", 1 CPU, pt-query-digest", "MB/s", one, pt, 150, 0))
	if len(two) > 0 {
		goals.add(row(l.name+", 2 CPUs, pt-query-digest", "MB/s", two, pt, 300, 0))
	}
	// what other work on the machine hardly changes
	row(l.name+", 1 CPU, pt-query-digest", "MB/s of CPU", cpu, ptCPU, 0, 0)
	if len(slow) > 0 {
		goals.add(row(l.name+", 1 CPU, mysqldumpslow", "MB/s", one, slow, 0, 0))
	}
	most := 30.0
	if l.classes > 1000 {
		most = 256
	}
	goals.add(bound(l.name+", peak of pt-query-digest "+short(slices.Max(ptMemory)), "peak MB",
		slices.Max(memory), most))
	return goals
}

// bound prints a figure of Dyno's that must not be above most.
func bound(name, figure string, v, most float64) (goals tally) {
	word := "missed"
	if goals.all++; v <= most {
		goals.held++
		word = "holds"
	}
	fmt.Printf("| %-38s |   | %-15s | %9s | %9s | %-22s | %-14s |\n", name, figure, short(v), "", "",
		fmt.Sprintf("≤ %.0f %s", most, word))
	return goals
}

// agree compares what Dyno and the peers say of a log.
func (b *digestBench) agree(t *testing.T, l *digestLog) (note string, goals tally) {
	t.Helper()
	_, out := b.run(t, len(b.cpus), b.dyno("--output", "json", "--limit", "0", l.path)...)
	ours, err := peer.Decode(out)
	if err != nil {
		t.Fatal(err)
	}
	_, out = b.run(t, 1, append(append([]string{"pt-query-digest"}, peer.PtArgs...), l.path)...)
	theirs, err := peer.DecodePt(out)
	if err != nil {
		t.Fatal(err)
	}
	d := peer.Compare(ours, theirs, peer.Options{})
	if ours.Global.Entries != l.entries {
		d = append(d, fmt.Sprintf("%d entries, the log has %d", ours.Global.Entries, l.entries))
	}
	said := fmt.Sprintf("%s: %d statements, %d classes; ids, counts and sum, min, max, average of all attributes",
		l.name, ours.Global.Count, len(ours.Classes))
	if dumpslow := peer.Dumpslow(); dumpslow != nil {
		_, out = b.run(t, 1, append(dumpslow[:len(dumpslow):len(dumpslow)], l.path)...)
		n, err := peer.CountDumpslow(out)
		if err != nil {
			t.Fatal(err)
		}
		if n != l.entries {
			d = append(d, fmt.Sprintf("mysqldumpslow counts %d statements", n))
		}
		said += ", and mysqldumpslow's count,"
	}
	goals.all = 1
	if len(d) == 0 {
		goals.held = 1
		return said + " are equal.", goals
	}
	return fmt.Sprintf("%s differ in %d points: %s", said, len(d), strings.Join(d[:min(len(d), 5)], "; ")), goals
}

// compressed measures logs in gzip and zstd beside the time that decompression alone takes: of the programs, and of the
// Go packages that Dyno uses.
func (b *digestBench) compressed(t *testing.T, size int64) (goals tally) {
	t.Helper()
	rounds := number("DIGEST_COMPRESSED", number("DIGEST_ROUNDS", 3))
	if rounds == 0 {
		return goals
	}
	l := &digestLog{name: "full", full: true, classes: 60, path: filepath.Join(b.dir, "slow.log")}
	l.write(t, size)
	mb := float64(l.bytes) / 1e6
	cpus := min(2, len(b.cpus))
	fmt.Printf("\nCompressed logs, %d CPUs, MB/s of what comes out.\n\n", cpus)
	fmt.Printf("| %-38s | n | %-15s | %9s | %9s | %-22s | %-14s |\n", "log, beside", "figure", "Dyno", "alone",
		"ratio (range)", "goal")
	fmt.Printf("|%s|---|%s|%s:|%s:|%s|%s|\n", strings.Repeat("-", 40), strings.Repeat("-", 17), strings.Repeat("-", 10),
		strings.Repeat("-", 10), strings.Repeat("-", 24), strings.Repeat("-", 16))
	for _, z := range []struct {
		name   string
		pack   []string
		unpack []string
		read   func(r io.Reader) (io.Reader, error)
	}{
		{"gzip", []string{"gzip", "-c", "-6"}, []string{"gzip", "-dc"}, func(r io.Reader) (io.Reader, error) {
			return gzip.NewReader(r)
		}},
		{
			"zstd",
			[]string{"zstd", "-q", "-c", "-3"},
			[]string{"zstd", "-q", "-dc"},
			func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
		},
	} {
		packed := filepath.Join(b.dir, "slow."+z.name)
		b.runInto(t, packed, append(z.pack, l.path)...)
		var ours, program, library []float64
		for range rounds {
			s, _, _ := b.often(t, cpus, packed)
			ours = append(ours, mb/s)
			u := b.runInto(t, os.DevNull, append(z.unpack, packed)...)
			program = append(program, mb/u.Seconds)
			begin := time.Now()
			file, err := os.Open(packed)
			if err != nil {
				t.Fatal(err)
			}
			r, err := z.read(file)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, r); err != nil || n != l.bytes {
				t.Fatalf("%d bytes, %v", n, err)
			}
			file.Close()
			library = append(library, mb/time.Since(begin).Seconds())
		}
		goals.add(row(z.name+", its Go package", "MB/s", ours, library, 0.85, 0))
		row(z.name+", the program", "MB/s", ours, program, 0, 0)
	}
	return goals
}

// runInto runs a command on one CPU with its output in a file.
func (b *digestBench) runInto(t *testing.T, file string, argv ...string) (u used) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), b.spawn, append([]string{strconv.Itoa(b.cpus[0]), file}, argv...)...).
		Output()
	if err == nil {
		err = json.Unmarshal(out, &u)
	}
	if err != nil || u.Code != 0 {
		t.Fatalf("%s: code %d, %v", strings.Join(argv, " "), u.Code, err)
	}
	return u
}

// memory measures the peak with 100 000 classes, and with few on files of growing size.
func (b *digestBench) memory(t *testing.T, size int64) (goals tally) {
	t.Helper()
	if number("DIGEST_MEMORY", 1) == 0 {
		return goals
	}
	fmt.Printf("\nPeak memory of Dyno on all CPUs, the largest of %d runs.\n\n", number("DIGEST_REPEAT", 5))
	fmt.Printf("| %-38s |   | %-15s | %9s | %9s | %-22s | %-14s |\n", "log", "figure", "Dyno", "", "", "goal")
	fmt.Printf("|%s|---|%s|%s:|%s:|%s|%s|\n", strings.Repeat("-", 40), strings.Repeat("-", 17), strings.Repeat("-", 10),
		strings.Repeat("-", 10), strings.Repeat("-", 24), strings.Repeat("-", 16))
	peak := func(l *digestLog, size int64, most float64) float64 {
		l.path, l.bytes, l.entries = filepath.Join(b.dir, "slow.log"), 0, 0
		l.write(t, size)
		_, _, p := b.often(t, len(b.cpus), l.path)
		goals.add(bound(fmt.Sprintf("%s, %d MB", l.name, l.bytes>>20), "peak MB", float64(p)/1e6, most))
		return float64(p) / 1e6
	}
	u, _ := b.run(t, 1, os.Getenv("DYNO"), "--version")
	fmt.Printf("| %-38s |   | %-15s | %9s | %9s | %-22s | %-14s |\n", "dyno --version: the program itself", "peak MB",
		short(float64(u.Peak)/1e6), "", "", "")
	peak(&digestLog{name: "full, 100000 classes", full: true, classes: 100_000}, 2*size, 256)
	few := &digestLog{name: "full, 60 classes", full: true, classes: 60}
	small := peak(few, size/4, 30)
	large := peak(few, size*4, 30)
	goals.add(bound("16 times the size", "% of peak", large/small*100, 125))
	return goals
}

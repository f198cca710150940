//go:build bench

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/demo"
)

// TestAccuracy is told of in accuracy.sh.
func TestAccuracy(t *testing.T) {
	out := os.Getenv("OUT")
	if out == "" {
		t.Skip("bench/accuracy.sh runs it")
	}
	lines, err := readLines(out)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("TABLES") != "1" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := measure(ctx, out, lines); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if lines, err = readLines(out); err != nil {
			t.Fatal(err)
		}
	}
	text := tables(lines)
	if os.Getenv("DOCS") != "1" {
		fmt.Println(text)
		return
	}
	if err := intoDocs("../docs/accuracy.md", text); err != nil {
		t.Fatal(err)
	}
}

// measure appends a line for each fault that has none yet.
func measure(ctx context.Context, out string, have []demo.AccuracyLine) error {
	home, err := os.MkdirTemp("/var/tmp", "dyno-accuracy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	if err := os.Chmod(home, 0o755); err != nil { // servers run as another user
		return err
	}
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	a := &app.App{Home: home, Version: "bench", Environ: os.Getenv}
	defer a.Close()
	o := demo.AllOptions{
		Servers: listOf("SERVERS", "mariadb,mysql@9.7"), ServerDirs: listOf("SERVER_DIRS", ""),
		Only:  listOf("ONLY", ""),
		Seeds: countOf("SEEDS", 3), First: countOf("FIRST", 1), Pairs: true, NoCure: os.Getenv("CURE") == "0",
		Done: have,
	}
	if tree := os.Getenv("DYNO_TEST_MYSQL"); tree != "" {
		o.ServerDirs = append(o.ServerDirs, tree)
	}
	if os.Getenv("TOOLS") != "0" {
		o.Beside = askTools
	}
	begin := time.Now()
	o.Begin = func(fault, server string, seed, number, of int) {
		fmt.Fprintf(os.Stderr, "%s %d of %d: %s on %s, seed %d\n", time.Since(begin).Round(time.Second), number,
			of, fault, server, seed)
	}
	return demo.All(ctx, a, o, func(l demo.AccuracyLine) error {
		fmt.Fprintf(os.Stderr, "    found %v, rank %d, %d foreign, %.0f s %s%s\n", l.Found, l.Rank, len(l.Foreign),
			l.Seconds, l.Missed, l.Error)
		b, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if _, err := f.Write(append(b, '\n')); err != nil {
			return err
		}
		return f.Sync()
	})
}

// readLines reads the lines of earlier runs. Of several about the same fault the last one counts.
func readLines(name string) (lines []demo.AccuracyLine, err error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 4<<20)
	for n := 1; s.Scan(); n++ {
		var l demo.AccuracyLine
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d of %s: %w", n, name, err)
		}
		key := fmt.Sprint(l.Fault, "|", l.Asked, "|", l.Seed)
		if i, ok := at[key]; ok {
			lines[i] = l
			continue
		}
		at[key] = len(lines)
		lines = append(lines, l)
	}
	return lines, s.Err()
}

// The marks in docs/accuracy.md between which the tables stand.
const (
	beginMark = "<!-- tables of bench/accuracy.sh: begin -->"
	endMark   = "<!-- tables of bench/accuracy.sh: end -->"
)

func intoDocs(name, text string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok1 := strings.Cut(string(b), beginMark)
	_, after, ok2 := strings.Cut(rest, endMark)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no marks for the tables", name)
	}
	return os.WriteFile(filepath.Clean(name), []byte(before+beginMark+"\n\n"+text+"\n"+endMark+after), 0o644)
}

func listOf(name, otherwise string) []string {
	v := os.Getenv(name)
	if v == "" {
		v = otherwise
	}
	if v == "" {
		return nil
	}
	return strings.Split(v, ",")
}

func countOf(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

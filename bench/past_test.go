//go:build bench

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestPast prints how long a diagnosis of what is stored takes.
func TestPast(t *testing.T) {
	for _, flavor := range strings.Fields(os.Getenv("SERVERS")) {
		t.Run(flavor, func(t *testing.T) { past(t, flavor) })
	}
}

func past(t *testing.T, flavor string) {
	minutes, classes := count(t, "MINUTES"), count(t, "CLASSES")
	s := servers.Start(t, flavor, "performance_schema=ON")
	s.Exec(t, "CREATE DATABASE shop", "USE shop", "CREATE TABLE boxes (id INT PRIMARY KEY, shelf INT, note CHAR(50))",
		"INSERT INTO boxes WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "+
			"SELECT i, i, 'x' FROM n")
	home := t.TempDir()
	dynoRun(t, home, "target", "add", "shop", s.URL("root"))
	pid, base := dynoServe(t, home)
	ctx, stop := context.WithCancel(t.Context())
	load, ctx := errgroup.WithContext(ctx)
	db := s.DB(t, "shop")
	for k := range 2 {
		load.Go(func() error {
			for i := k; ctx.Err() == nil; i++ { // one class in ten reads the table, the others look one row up
				where := "shelf"
				if i%classes%10 > 0 {
					where = "id"
				}
				q := fmt.Sprintf("SELECT note AS note_%s FROM boxes WHERE %s = %d", letters(i%classes), where, i%900+1)
				var note string
				if err := db.QueryRowContext(ctx, q).Scan(&note); err != nil && ctx.Err() == nil {
					return fmt.Errorf("%s: %w", q, err)
				}
				time.Sleep(time.Millisecond)
			}
			return nil
		})
	}
	from := time.Now().Add(20 * time.Second).Truncate(time.Minute).Add(time.Minute)
	select {
	case <-time.After(time.Until(from.Add(time.Duration(minutes)*time.Minute + 90*time.Second))): // the last is stored
	case <-ctx.Done():
		t.Fatal(load.Wait())
	}
	var kept struct{ Classes []json.RawMessage }
	answer, err := http.Get(fmt.Sprintf("%s/api/dyno/v1/classes?target=shop&limit=1000&from=%d&to=%d", base,
		from.Unix(), from.Unix()+int64(minutes)*60))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&kept); err != nil || len(kept.Classes) < classes {
		t.Fatalf("%d classes are stored, %s: %v", len(kept.Classes), answer.Status, err)
	}
	ask := func(what string) {
		t.Helper()
		var took []float64
		answer := ""
		for range count(t, "TIMES") {
			cmd := exec.Command(os.Getenv("PROGRAM"), "diagnose", "shop", "--at", from.UTC().Format(time.RFC3339),
				"--window", fmt.Sprintf("%dm", minutes), "--output", "json", "--quiet")
			cmd.Env = append(os.Environ(), "DYNO_HOME="+home)
			began := time.Now()
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			took, answer = append(took, time.Since(began).Seconds()), string(out)
		}
		x := stat.Center(took, 0.95)
		fmt.Printf("%s, %d classes, %d minutes, %s: %.2f s (%.2f to %.2f, n=%d), %d findings\n", flavor,
			len(kept.Classes), minutes, what, x.Center, x.Lo, x.Hi, x.N, strings.Count(answer, "\n"))
		goal("a diagnosis of the past", x.Center, 2, "s")
	}
	ask("while it is watched")
	stop()
	if err := load.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("dyno serve does not end")
		}
	}
	s.Kill(t)
	ask("with both ended")
}

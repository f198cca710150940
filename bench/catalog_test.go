//go:build bench

package bench

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/test/servers"
)

const (
	catalogEvery  = 10 * time.Minute // between two diagnoses of dyno serve
	catalogTime   = 2 * time.Second  // as package capture allows
	catalogShops  = 5
	catalogBusy   = 200                    // tables that users work with
	catalogPeople = 100 * time.Millisecond // between two uses of a probe
)

// TestCatalog prints what reading the catalog costs a server with very many tables.
func TestCatalog(t *testing.T) {
	urls := strings.Fields(os.Getenv("URLS"))
	for _, url := range urls {
		catalogOf(t, url)
	}
	if len(urls) > 0 {
		return
	}
	for _, flavor := range strings.Fields(os.Getenv("SERVERS")) {
		s := servers.Start(t, flavor, "performance_schema=ON", "skip-log-bin", "innodb-flush-log-at-trx-commit=0",
			"innodb-buffer-pool-size=1G")
		makeShops(t, s, count(t, "TABLES"))
		catalogOf(t, s.URL("root"))
		s.Kill(t)
	}
}

func makeShops(t *testing.T, s *servers.Server, n int) {
	began := time.Now()
	var g errgroup.Group
	for shop := range catalogShops {
		g.Go(func() error {
			db := s.DB(t, "")
			if _, err := db.Exec(fmt.Sprint("CREATE DATABASE shop", shop)); err != nil {
				return err
			}
			for i := range n / catalogShops {
				if _, err := db.Exec(fmt.Sprintf("CREATE TABLE shop%d.t%05d (id INT PRIMARY KEY, customer INT NOT "+
					"NULL, state VARCHAR(20), made DATETIME, note TEXT,"+
					" KEY kc (customer), KEY ks (state, made))", shop, i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s: %d tables were made in %v\n", s.Flavor, n, time.Since(began).Round(time.Second))
}

// timed is a connection that remembers how long its longest statement took until its first row.
type timedConn struct {
	*sql.Conn
	longest time.Duration
	what    string
}

func (c *timedConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	began := time.Now()
	rows, err := c.Conn.QueryContext(ctx, query, args...)
	if d := time.Since(began); d > c.longest {
		c.longest, c.what = d, query
	}
	return rows, err
}

// shop is a server with very many tables.
type shop struct {
	t     *testing.T
	x     *target.Target
	pid   int
	names []string // of its tables, in an order drawn
}

func catalogOf(t *testing.T, url string) {
	spec, err := endpoint.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	x, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s := &shop{t: t, x: x}
	var ok bool
	if s.pid, ok = x.LocalPID(t.Context()); !ok {
		t.Fatalf("the process of %s cannot be seen", url)
	}
	rows, err := x.DB().QueryContext(t.Context(), "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM "+
		"information_schema.TABLES WHERE TABLE_SCHEMA LIKE 'shop_'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		s.names = append(s.names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	rand.Shuffle(len(s.names), func(i, j int) { s.names[i], s.names[j] = s.names[j], s.names[i] })
	limit, _ := x.Variable("table_open_cache")
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("%s %s, %d tables, table_open_cache %s, %s, load %s", x.Facts().Flavor, x.Facts().Version,
		len(s.names), limit, cores(), load)

	// The cache of open tables is filled, with the busy ones last.
	for _, name := range s.names[:min(len(s.names), number("FILL", 6000))] {
		s.read(x.DB(), name)
	}
	fmt.Printf("%-34s %6s %6s %9s %8s %9s %9s %s\n", "reading the catalog", "read", "kept", "CPU ms", "of one",
		"wall ms", "opened", "longest statement ms")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	heap := m.HeapAlloc
	c := (&catalog.Cache{}).Of("server")
	for i := range 3 {
		s.look(fmt.Sprintf("with an empty cache, and again %d", i), c)
	}
	rounds := count(t, "ROUNDS")
	for range rounds {
		s.look("nothing changed", c)
	}
	runtime.GC()
	runtime.ReadMemStats(&m)
	fmt.Printf("Dyno keeps %.1f MB\n", float64(m.HeapAlloc-heap)/1e6)
	s.probe("alone", func() {})
	s.probe("beside: one that computes", func() {
		var n int
		if err := s.x.DB().QueryRowContext(s.t.Context(), "SELECT BENCHMARK(10000000, CRC32('a'))").
			Scan(&n); err != nil {
			s.t.Error(err)
		}
	})
	s.probe("beside: nothing changed", func() { s.quiet(c) })
	s.probe("beside: all are read", func() { s.quiet((&catalog.Cache{}).Of("server")) })
	runtime.KeepAlive(c)
}

// read uses a table as a client does.
func (s *shop) read(db *sql.DB, name string) {
	var n int
	if err := db.QueryRowContext(s.t.Context(), "SELECT COUNT(*) FROM "+name).Scan(&n); err != nil {
		s.t.Error(err)
	}
}

func (s *shop) counter(q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, scope, name string,
) (n int) {
	var k string
	if err := q.QueryRowContext(s.t.Context(), "SHOW "+scope+" STATUS LIKE '"+name+"'").Scan(&k, &n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// look reads the catalog once, as a diagnosis does.
func (s *shop) look(what string, c *catalog.Cache) {
	var longest timedConn
	opened := 0
	before, began := cpu(s.t, s.pid), time.Now()
	var inv catalog.Inventory
	for _, ask := range []func(catalog.Querier) error{
		func(q catalog.Querier) (err error) {
			inv, err = catalog.All(s.t.Context(), q, c, snapshot.MaxTables, catalogTime, nil)
			return err
		},
		func(q catalog.Querier) error {
			_, err := catalog.IndexUse(s.t.Context(), q, 5*snapshot.MaxTables)
			return err
		},
	} {
		conn, err := target.Limited(s.t.Context(), s.x, catalogTime)
		if err != nil {
			s.t.Fatal(err)
		}
		q := &timedConn{Conn: conn}
		was := s.counter(conn, "SESSION", "Opened_tables")
		if err := ask(q); err != nil {
			fmt.Println(err)
		} else {
			opened += s.counter(conn, "SESSION", "Opened_tables") - was
		}
		if q.longest > longest.longest {
			longest = *q
		}
		_ = target.Discard(conn)
	}
	wall, used := time.Since(began), cpu(s.t, s.pid)-before
	fmt.Printf("%-34s %6d %6d %9.0f %7.2f%% %9.0f %9d %.0f: %.70s %s\n", what, inv.Read, len(inv.Tables), ms(used),
		100*used.Seconds()/catalogEvery.Seconds(), ms(wall),
		opened, ms(longest.longest), strings.Join(strings.Fields(longest.what), " "), inv.Why)
}

// quiet reads it without a word.
func (s *shop) quiet(c *catalog.Cache) {
	conn, err := target.Limited(s.t.Context(), s.x, catalogTime)
	if err != nil {
		s.t.Fatal(err)
	}
	defer target.Discard(conn)
	if _, err := catalog.All(s.t.Context(), conn, c, snapshot.MaxTables, catalogTime, nil); err != nil {
		s.t.Error(err)
	}
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// probe works as users do while something is done over and over, and prints how long they waited.
func (s *shop) probe(what string, do func()) {
	ctx, stop := context.WithCancel(s.t.Context())
	defer stop()
	db := s.x.DB()
	busy, idle := s.names[:catalogBusy], s.names[catalogBusy:]
	for range 2 {
		for _, name := range busy {
			s.read(db, name)
		}
	}
	users, err := db.Conn(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	defer users.Close()
	opened := s.counter(users, "SESSION", "Opened_tables")
	exec := func(c *sql.Conn, q string) {
		rows, err := c.QueryContext(s.t.Context(), q)
		if err != nil {
			s.t.Errorf("%s: %v", q, err)
			return
		}
		defer rows.Close()
		for rows.Next() { //nolint:revive // rows are of no interest
		}
		if err := rows.Err(); err != nil {
			s.t.Errorf("%s: %v", q, err)
		}
	}
	exec(users, "DROP TABLE IF EXISTS shop0.probe")
	kinds := []struct {
		name  string
		pause time.Duration
		use   func(*sql.Conn, int)
	}{
		{"read a busy table", catalogPeople / 20, func(c *sql.Conn, i int) {
			exec(c, "SELECT COUNT(*) FROM "+busy[i%len(busy)])
		}},
		{"open an idle table", catalogPeople, func(c *sql.Conn, i int) {
			exec(c, "SELECT COUNT(*) FROM "+idle[rand.N(len(idle))])
		}},
		{"create, alter and drop a table", catalogPeople, func(c *sql.Conn, i int) {
			exec(c, []string{
				"CREATE TABLE shop0.probe (id INT PRIMARY KEY)", "ALTER TABLE shop0.probe ADD COLUMN c INT",
				"ALTER TABLE shop0.probe ADD KEY (c)", "DROP TABLE shop0.probe",
			}[i%4])
		}},
	}
	waits := make([][]float64, len(kinds))
	g, gctx := errgroup.WithContext(ctx)
	for k, x := range kinds {
		c := users
		if k > 0 {
			if c, err = db.Conn(ctx); err != nil {
				s.t.Fatal(err)
			}
			defer c.Close()
		}
		g.Go(func() error {
			for i := 0; gctx.Err() == nil; i++ {
				began := time.Now()
				x.use(c, i)
				waits[k] = append(waits[k], ms(time.Since(began)))
				select {
				case <-gctx.Done():
				case <-time.After(x.pause):
				}
			}
			return nil
		})
	}
	n := 0
	for end := time.Now().Add(setting(s.t, "PROBE")); time.Now().Before(end); n++ {
		do()
		select {
		case <-ctx.Done():
		case <-time.After(catalogPeople):
		}
	}
	stop()
	_ = g.Wait()
	for k, x := range kinds {
		slices.Sort(waits[k])
		w := waits[k]
		fmt.Printf("%-26s %-32s n=%-5d median %6.1f  p99 %7.1f  max %7.1f ms\n", what, x.name, len(w), w[len(w)/2],
			w[len(w)*99/100], w[len(w)-1])
	}
	conn, err := db.Conn(s.t.Context())
	if err == nil {
		_, _ = conn.ExecContext(s.t.Context(), "DROP TABLE IF EXISTS shop0.probe")
		conn.Close()
	}
	fmt.Printf("%-26s the catalog was read %d times; the session on busy tables found %d closed\n", what, n,
		s.counter(users, "SESSION", "Opened_tables")-opened)
}

package capture_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/postgres/capture"
)

func TestNPlusOne(t *testing.T) {
	s := start(t, "17", append(orders, `CREATE INDEX ON "Orders" (customer)`,
		"CREATE TABLE remark (id int PRIMARY KEY, t text)",
		"INSERT INTO remark SELECT n, 'text' FROM generate_series(1, 200000) n", "VACUUM ANALYZE")...)
	snap := under(t, s, capture.Options{}, func(ctx context.Context, c *pgx.Conn, n int) error {
		rows, err := c.Query(ctx, `SELECT id FROM "Orders" WHERE customer = $1`, n%20000)
		if err != nil {
			return err
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil {
			return err
		}
		for _, id := range ids {
			var text string
			if err := c.QueryRow(ctx, "SELECT t FROM remark WHERE id = $1", id).Scan(&text); err != nil {
				return err
			}
		}
		return nil
	})
	f, ok := find(t, snap, "n-plus-one")
	if !ok || len(f.Subject.Classes) != 2 {
		b, _ := snap.Encode()
		t.Fatalf("%+v\n%s", f, b)
	}
	t.Log(strings.Join(texts(f), "\n"))
}

func TestLargeResults(t *testing.T) {
	s := start(t, "15", orders...)
	snap := under(t, s, capture.Options{}, each(`SELECT id, customer FROM "Orders"`, func(int) []any { return nil }))
	f, ok := find(t, snap, "large-results")
	if !ok || len(f.Subject.Tables) != 1 || f.Evidence[0].Value.Or(0) != 200_000 {
		t.Fatalf("%+v", f)
	}
	if f, ok := find(t, snap, "missing-index"); ok {
		t.Errorf("%+v", f)
	}
}

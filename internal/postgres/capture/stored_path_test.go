package capture_test

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/postgres/capture"
)

// TestStoredSearchPath has the owner of a database store a search_path that holds statements: it is a list of names for
// the plans, and nothing else.
func TestStoredSearchPath(t *testing.T) {
	s := start(t, "17", append(orders, `CREATE FUNCTION evil() RETURNS void LANGUAGE sql AS 'CREATE TABLE owned ()'`,
		`DO $$ BEGIN
			PERFORM set_config('search_path', 'pg_catalog;commit;set/**/default_transaction_read_only=off;commit;' ||
				'select/**/public.evil()', false);
			ALTER DATABASE `+database+` SET search_path FROM CURRENT;
		END $$`)...)
	snap := under(t, s, capture.Options{}, each(`SELECT id FROM public."Orders" WHERE customer = $1`,
		func(n int) []any { return []any{n % 20000} }))
	if len(snap.Plans) != 1 || snap.Plans[0].Error != "" || len(snap.Plans[0].Steps) != 1 {
		t.Errorf("plans %+v", snap.Plans)
	}
	if n := s.Value(t, database, "SELECT count(*) FROM pg_class WHERE relname = 'owned'"); n != "0" {
		t.Error("a diagnosis ran what the owner of the database had stored")
	}
}

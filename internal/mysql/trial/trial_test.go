package trial

import "testing"

func TestShapes(t *testing.T) {
	f := func(name string, want bool) {
		t.Helper()
		if got := (Bench{}).Shapes(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	f("innodb_buffer_pool_size", false)
	f("innodb-flush-log-at-trx-commit", false)
	f("loose_innodb_buffer_pool_instances", false)
	f("log_bin", false)
	f("sync_binlog", false)
	f("innodb_page_size", true)
	f("innodb_file_per_table", true)
	f("innodb_compression_algorithm", true)
	f("default_storage_engine", true)
	f("character_set_server", true)
}

func TestLiteral(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := literal(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	f("1", "1")
	f("0.5", "0.5")
	f("ON", "ON")
	f("64M", "67108864")
	f("2g", "2147483648")
	f("it's", "'it''s'")
	f(`a\`, `'a\\'`)
	f("1; DROP TABLE t", "'1; DROP TABLE t'")
	f("", "''")
}

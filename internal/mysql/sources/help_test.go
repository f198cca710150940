package sources

import "testing"

func TestHelp(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		if got := Help.Of(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f("mysql_up", "Whether the server answered.")
	f("mysql_global_status_questions", "Status variable questions (SHOW GLOBAL STATUS).")
	f("mysql_info_schema_innodb_metrics_lock_deadlocks_total",
		"InnoDB's counter lock_deadlocks (information_schema.INNODB_METRICS).")
	f("mysql_global_status_", "")
	f("nonsense", "")
}

package sources

import (
	"fmt"
	"net"
	"testing"
)

// testGroup makes a group of one.
func testGroup(t *testing.T, s *sqlServer) {
	src := newGroupReplication(s.l, s.t)
	if got := mustRead(t, src); len(got) != 0 {
		t.Fatalf("a server in no group gave %v", got)
	}
	if s.Flavor == "mariadb" {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	s.Exec(t, "INSTALL PLUGIN group_replication SONAME 'group_replication.so'",
		"SET GLOBAL group_replication_group_name='aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa'",
		fmt.Sprintf("SET GLOBAL group_replication_local_address='%s'", addr),
		fmt.Sprintf("SET GLOBAL group_replication_group_seeds='%s'", addr),
		"SET GLOBAL group_replication_bootstrap_group=ON", "START GROUP_REPLICATION")
	defer s.Exec(t, "STOP GROUP_REPLICATION")
	wait(t, "a member that is online", func() bool {
		x, ok := find(mustRead(t, src), "dyno_group_members", "state", "online")
		return ok && x.Value == 1
	})
	s.Exec(t, "CREATE DATABASE gr", "CREATE TABLE gr.t (id INT PRIMARY KEY) ENGINE=InnoDB",
		"INSERT INTO gr.t VALUES (1)", "INSERT INTO gr.t VALUES (2)")
	got := mustRead(t, src)
	value(t, got, "mysql_perf_schema_replication_group_member_info", "member_state", "ONLINE", "member_role", "PRIMARY",
		"member_port", fmt.Sprint(s.Port))
	if v := value(t, got, "mysql_perf_schema_transactions_checked_total"); v < 4 {
		t.Errorf("%v transactions checked", v)
	}
	if v := value(t, got, "dyno_group_members", "state", "error"); v != 0 {
		t.Errorf("%v members in error", v)
	}
}

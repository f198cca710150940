package servers

import "testing"

func TestStart(t *testing.T) {
	for _, flavor := range Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := Start(t, flavor, "max_connections=17")
			var n int
			if err := s.DB(t, "").QueryRow("SELECT @@max_connections").Scan(&n); err != nil || n != 17 {
				t.Fatalf("got %d, %v", n, err)
			}
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)")
			s.Kill(t)
			s.Launch(t)
			if err := s.DB(t, "d").QueryRow("SELECT a FROM t").Scan(&n); err != nil || n != 1 {
				t.Fatalf("after a crash: got %d, %v", n, err)
			}
		})
	}
}

package capture

import (
	"context"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestProgramsOfAWindow(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			ctx := context.Background()
			s := servers.Start(t, flavor, "performance_schema=ON")
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, a INT)",
				"CREATE TABLE d.log (n INT)",
				"CREATE PROCEDURE d.`note it`(n INT) BEGIN INSERT INTO log VALUES (n); INSERT INTO log VALUES (n + "+
					"1); END",
				"CREATE TRIGGER d.after_t AFTER INSERT ON d.t FOR EACH ROW CALL `note it`(NEW.a)",
				"CREATE FUNCTION d.unused() RETURNS INT DETERMINISTIC RETURN 1", "INSERT INTO d.t (a) VALUES (1), (2)",
				"SELECT d.unused()")
			p := programs{t: open(t, s, "root")}
			if err := p.begin(ctx); err != nil {
				t.Fatal(err)
			}
			s.Exec(t, "INSERT INTO d.t (a) VALUES (1), (2), (3)", "CALL d.`note it`(9)")
			got, err := p.end(ctx)
			if err != nil || p.source.State != source.OK || p.source.Reads != 2 {
				t.Fatalf("source %+v, %v", p.source, err)
			}
			if len(got) != 2 {
				t.Fatalf("programs that ran: %+v", got)
			}
			for _, x := range got {
				switch x.Kind {
				case "trigger":
					if x.Name != "after_t" || x.Table != "t" || x.Count != 3 || !strings.Contains(x.Body, "CALL") {
						t.Errorf("trigger %+v", x)
					}
				case "procedure":
					if n, ok := x.Statements.Get(); x.Name != "note it" || x.Count != 4 || ok != (flavor == "mysql") ||
						ok && n != 8 || !strings.Contains(x.Body, "n + 1") {
						t.Errorf("procedure %+v with %d statements", x, n)
					}
				default:
					t.Errorf("program %+v", x)
				}
				if x.TimeSec <= 0 || x.StatementsSec.Or(0) > x.TimeSec {
					t.Errorf("%s took %v s, of which statements %v", x.Name, x.TimeSec, x.StatementsSec)
				}
			}
		})
	}
}

func TestProgramsWithout(t *testing.T) {
	ctx := context.Background()
	s := servers.Start(t, "mariadb", "performance_schema=OFF")
	p := programs{t: open(t, s, "root")}
	if err := p.begin(ctx); err != nil || p.source.State != source.Missing || p.source.Fix == "" {
		t.Errorf("source %+v, %v", p.source, err)
	}
	if got, err := p.end(ctx); err != nil || got != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

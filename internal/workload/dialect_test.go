package workload

import "testing"

func TestMarkersInPostgreSQL(t *testing.T) {
	f := func(sql, numbered, filled string, args ...Datum) {
		t.Helper()
		s := Statement{SQL: sql}
		if got := s.Numbered(); got != numbered {
			t.Errorf("%s is prepared as %s, want %s", sql, got, numbered)
		}
		got, err := s.AppendTextIn(PostgreSQL, nil, args)
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != filled {
			t.Errorf("%s is sent as %s, want %s", sql, got, filled)
		}
	}
	f("SELECT 1", "SELECT 1", "SELECT 1")
	f("SELECT ?,? ", "SELECT $1,$2 ", "SELECT 5,'it''s \\' ", Uint(5), String(`it's \`))
	f(
		"SELECT '?', 'it''s ?', \"a?\", ?",
		"SELECT '?', 'it''s ?', \"a?\", $1",
		"SELECT '?', 'it''s ?', \"a?\", NULL",
		Datum{},
	)
	f("SELECT 5-?, ?", "SELECT 5-$1, $2", "SELECT 5-(-3), (-1.5)", Int(-3), Float(-1.5))
	f("SELECT 'open ?", "SELECT 'open ?", "SELECT 'open ?")
	f("SELECT ?", "SELECT $1", `fill "SELECT ?": 1 markers for 2 arguments`, Int(1), Int(2))
	f("SELECT ?, ?", "SELECT $1, $2", `fill "SELECT ?, ?": 2 markers for 1 arguments`, Int(1))
}

func TestDialectsOfALiteral(t *testing.T) {
	d := String(`a'\`)
	if a, b := string(d.AppendLiteralIn(MySQL, nil)), string(d.AppendLiteralIn(PostgreSQL, nil)); a != `'a\'\\'` ||
		b != `'a''\'` {
		t.Errorf("%s in %v, %s in %v", a, MySQL, b, PostgreSQL)
	}
	s := Statement{SQL: "SELECT ?"}
	if got, err := s.AppendTextIn(MySQL, nil, []Datum{Int(-1)}); err != nil || string(got) != "SELECT -1" {
		t.Errorf("%s, %v", got, err)
	}
}

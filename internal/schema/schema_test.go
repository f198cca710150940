package schema

import "testing"

func TestColumnIsFoundAsTheServerFindsIt(t *testing.T) {
	tab := Table{Columns: []Column{{Name: "Status"}, {Name: "größe"}}, Indexes: []Index{{Name: "k"}, {Name: "PRIMARY"}}}
	f := func(name, want string) {
		t.Helper()
		if c, _ := tab.Column(name); c.Name != want {
			t.Fatalf("%q: got %q, want %q", name, c.Name, want)
		}
	}
	f("STATUS", "Status")
	f("größe", "größe")
	f("statu", "")
	if pk, ok := tab.PrimaryKey(); !ok || pk.Name != "PRIMARY" {
		t.Fatalf("got %v %v", pk, ok)
	}
}

func TestSystem(t *testing.T) {
	f := func(name string, want bool) {
		t.Helper()
		if System(name) != want {
			t.Errorf("%q: got %v", name, !want)
		}
	}
	f("mysql", true)
	f("INFORMATION_SCHEMA", true)
	f("Performance_Schema", true)
	f("sys", true)
	f("mysql2", false)
	f("", false)
}

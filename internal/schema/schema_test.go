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

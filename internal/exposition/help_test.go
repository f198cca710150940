package exposition

import "testing"

func TestHelp(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		if got := Everywhere.Of(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f("dyno_client_status", "Sessions other than Dyno's own, as status variables.")
	f("dyno_server_resident_bytes", "The server's own process: resident_bytes.")
	f("node_", "")
	f("nonsense", "")
}

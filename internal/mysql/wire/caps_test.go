package wire

import "testing"

func TestWanted(t *testing.T) {
	for name, c := range map[string]Caps{
		"LOCAL INFILE": 1 << 7, "several statements in one text": 1 << 16,
		"compression": 1 << 5, "TLS": TLS, "a database": ConnectWithDB,
	} {
		if wanted&c != 0 {
			t.Errorf("%s is asked for", name)
		}
	}
	if c := DeprecateEOF | Protocol41; !c.Has(Protocol41) || c.Has(Protocol41|TLS) || !c.Has(0) {
		t.Errorf("%x", c)
	}
}

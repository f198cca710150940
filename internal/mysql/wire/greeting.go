package wire

import (
	"bytes"
	"encoding/binary"
)

// Greeting is the first packet, by which the server says what it is (protocol 10).
type Greeting struct {
	Version string
	ID      uint32 // of the connection, as the processlist shows it
	Caps    Caps
	Plugin  string // the server's usual way to prove a password

	scramble []byte
}

// parseGreeting reads the first packet. An *Error is the server's refusal to talk.
func parseGreeting(p []byte) (g Greeting, err error) {
	if len(p) > 0 && p[0] == 0xff {
		return g, parseError(p)
	}
	if len(p) == 0 || p[0] != 10 {
		return g, malformed("a greeting of another protocol")
	}
	version, p, ok := bytes.Cut(p[1:], []byte{0})
	// connection 4, scramble 8, filler 1, capabilities 2, character set 1, status 2, capabilities 2, length 1, filler
	// 6, MariaDB's capabilities 4
	if !ok || len(p) < 31 {
		return g, malformed("a greeting that is too short")
	}
	g.Version, g.ID = string(version), binary.LittleEndian.Uint32(p)
	g.Caps = Caps(binary.LittleEndian.Uint16(p[13:])) | Caps(binary.LittleEndian.Uint16(p[18:]))<<16
	if !g.Caps.Has(LongPassword) {
		g.Caps |= Caps(binary.LittleEndian.Uint32(p[27:])) << 32
	}
	if !g.Caps.Has(Protocol41 | SecureAuth) {
		return g, malformed("a greeting of a server before MySQL 4.1")
	}
	rest := p[31:]
	if len(rest) < scrambleLen-8 {
		return g, malformed("a greeting that is too short")
	}
	g.scramble = append(append(make([]byte, 0, scrambleLen), p[4:12]...), rest[:scrambleLen-8]...)
	g.Plugin = nativePassword
	if rest = rest[scrambleLen-8:]; g.Caps.Has(PluginAuth) {
		if len(rest) > 0 && rest[0] == 0 { // the scramble's own end
			rest = rest[1:]
		}
		name, _, _ := bytes.Cut(rest, []byte{0}) // MySQL 5.5 before .10 sends no end
		g.Plugin = string(name)
	}
	return g, nil
}

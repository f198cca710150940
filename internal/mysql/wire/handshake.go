package wire

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
)

// ErrPlugin says that the account proves its password in a way that this client does not know.
var ErrPlugin = errors.New("unknown way to log in")

// Handshake logs in. It is fed what the server sends and says what to answer. No error holds the password.
type Handshake struct {
	User, Password, Database string
	// Local says that nobody can listen on the way to the server: a Unix socket. Then a password may be sent as it is,
	// where the server has no other way.
	Local      bool
	Attributes [][2]string // names and values that the server shows beside the connection
	Without    Caps        // not to ask for, where the server could
	// Encrypt asks for TLS: the first answer of Feed is the request for it, and once TLS stands Encrypted returns what
	// to send next. Then nothing but a proof by mysql_native_password is given.
	Encrypt bool

	packets
	greeting Greeting
	caps     Caps
	step     step
	plugin   string
	scramble []byte
	pending  []byte // the answer to the greeting, until TLS stands
	info     []byte // what the server says to those it lets in
}

type step uint8

const (
	greet   step = iota // the greeting comes first
	upgrade             // TLS comes next
	verify              // the answer to a proof
	key                 // the server's public key
	in                  // logged in
)

// mostOfLogin bounds what a server says at a time before it lets somebody in, bytes: a key takes the most of it.
const mostOfLogin = 64 << 10

// charset is utf8mb4_general_ci, which every server knows that has four bytes a character.
const charset = 45

// Greeting returns what the server said first, once Feed has answered for the first time.
func (h *Handshake) Greeting() Greeting { return h.greeting }

// Caps returns what is agreed, once Feed has answered for the first time.
func (h *Handshake) Caps() Caps { return h.caps }

// Feed takes the bytes that arrived. It returns what to send, if anything, and whether the login is complete. An *Error
// is the server's refusal; ErrPlugin and ErrMalformed end the login too.
func (h *Handshake) Feed(b []byte) (send []byte, done bool, err error) {
	h.packets.Feed(b)
	h.most = mostOfLogin
	for {
		p, ok, err := h.next()
		if !ok || err != nil {
			return send, false, err
		}
		reply, done, err := h.take(p)
		if err != nil {
			return nil, false, err
		}
		if reply != nil {
			start := len(send)
			send = seal(append(append(send, 0, 0, 0, 0), reply...), start, h.seq)
			h.seq++
		}
		if done {
			if len(h.in) > 0 || h.partial {
				return nil, false, malformed("more than a login")
			}
			return send, true, nil
		}
	}
}

// take looks at one packet. The reply is the payload to answer with, nil for none.
func (h *Handshake) take(p []byte) (reply []byte, done bool, err error) {
	if h.step == greet {
		if h.greeting, err = parseGreeting(p); err != nil {
			return nil, false, err
		}
		h.step = verify
		if !h.Encrypt {
			return h.response(), false, nil
		}
		if !h.greeting.Caps.Has(TLS) {
			return nil, false, malformed("a greeting without TLS")
		}
		h.step, h.pending = upgrade, h.response()
		return h.pending[:32], false, nil
	}
	if h.step == in || h.step == upgrade || len(p) == 0 {
		return nil, false, malformed("a login that does not end")
	}
	switch p[0] {
	case 0xff:
		return nil, false, parseError(p)
	case 0:
		h.step = in
		h.info = infoOf(p)
		return nil, true, nil
	case 0xfe:
		if h.step != verify {
			return nil, false, malformed("another way to log in, out of turn")
		}
		return h.change(p[1:])
	case 1:
		return h.further(p[1:])
	}
	return nil, false, malformed("an answer to a login")
}

// response builds the answer to the greeting.
func (h *Handshake) response() []byte {
	g := &h.greeting
	h.caps = wanted & g.Caps &^ h.Without
	if h.Encrypt {
		h.caps |= TLS
	}
	if h.Database != "" {
		h.caps |= ConnectWithDB & g.Caps
	}
	if h.plugin = g.Plugin; h.plugin != cachingSHA2 || h.Encrypt {
		h.plugin = nativePassword // if the account has another, the server will say so
	}
	h.scramble = g.scramble
	proof, _ := h.prove()

	b := make([]byte, 0, 256)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.caps))
	b = binary.LittleEndian.AppendUint32(b, 1<<30) // the longest packet, which servers do not look at
	b = append(b, charset)
	b = append(b, make([]byte, 19)...)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.caps>>32))
	b = append(append(b, h.User...), 0)
	b = append(append(b, byte(len(proof))), proof...) // shorter than 251, where both ways to write a length are one
	if h.caps.Has(ConnectWithDB) {
		b = append(append(b, h.Database...), 0)
	}
	if h.caps.Has(PluginAuth) {
		b = append(append(b, h.plugin...), 0)
	}
	if h.caps.Has(ConnectAttrs) {
		var attrs []byte
		for _, kv := range h.Attributes {
			for _, s := range kv {
				attrs = append(appendLenenc(attrs, uint64(len(s))), s...)
			}
		}
		b = append(appendLenenc(b, uint64(len(attrs))), attrs...)
	}
	return b
}

// prove returns the proof of the password.
func (h *Handshake) prove() ([]byte, error) {
	switch h.plugin {
	case nativePassword:
		return native(h.scramble, h.Password), nil
	case cachingSHA2:
		return caching(h.scramble, h.Password), nil
	}
	return nil, ErrPlugin
}

// change answers the server's wish for another proof.
func (h *Handshake) change(p []byte) (reply []byte, done bool, err error) {
	if len(p) == 0 { // the way before MySQL 4.1
		return nil, false, ErrPlugin
	}
	name, rest, ok := bytes.Cut(p, []byte{0})
	if !ok {
		return nil, false, malformed("another way to log in, without its name's end")
	}
	h.plugin = string(name)
	if h.plugin != nativePassword && (h.plugin != cachingSHA2 || h.Encrypt) {
		return nil, false, ErrPlugin
	}
	if len(rest) < scrambleLen {
		return nil, false, malformed("another way to log in, without its scramble")
	}
	h.scramble = bytes.Clone(rest[:scrambleLen])
	proof, err := h.prove()
	if proof == nil {
		proof = []byte{}
	}
	return proof, false, err
}

// Encrypted returns what to send once TLS stands, see Encrypt.
func (h *Handshake) Encrypted() []byte {
	send := seal(append(make([]byte, headSize), h.pending...), 0, h.seq)
	h.seq++
	h.step, h.pending = verify, nil
	return send
}

// infoOf returns the text of an OK packet, nil for none.
func infoOf(p []byte) []byte {
	p, ok := p[1:], false
	for range 2 { // affected rows, last id
		if _, p, ok = lenenc(p); !ok {
			return nil
		}
	}
	if len(p) < 4 { // status, warnings
		return nil
	}
	info, _, _ := lenencBytes(p[4:])
	return bytes.Clone(info)
}

// Vouched reports whether the server, which has let the client in, knows the account's password and has sealed this
// very connection: MariaDB 11.4 and later then say a hash of the password's hash, the scramble and the fingerprint of
// the certificate (SHA256). Without a password nobody vouches for anything.
func (h *Handshake) Vouched(fingerprint [sha256.Size]byte) bool {
	if h.step != in || h.Password == "" || h.plugin != nativePassword || len(h.info) < 1 || h.info[0] != 1 {
		return false
	}
	stage1 := sha1.Sum([]byte(h.Password))
	stage2 := sha1.Sum(stage1[:])
	x := sha256.New()
	x.Write(stage2[:])
	x.Write(h.scramble)
	x.Write(fingerprint[:])
	want := strings.ToUpper(hex.EncodeToString(x.Sum(nil)))
	return subtle.ConstantTimeCompare([]byte(want), bytes.ToUpper(h.info[1:])) == 1
}

// What the server says of a proof of caching_sha2_password.
const (
	known        = 3
	wantPassword = 4
	askKey       = 2
)

// further goes on after a proof of caching_sha2_password: a server that has not cached the password wants it itself.
func (h *Handshake) further(p []byte) (reply []byte, done bool, err error) {
	switch {
	case h.plugin != cachingSHA2:
	case h.step == key:
		h.step = verify
		reply, err = sealPassword(p, h.scramble, h.Password)
		return reply, false, err
	case len(p) == 1 && p[0] == known:
		return nil, false, nil
	case len(p) == 1 && p[0] == wantPassword && h.Local:
		return append([]byte(h.Password), 0), false, nil
	case len(p) == 1 && p[0] == wantPassword:
		h.step = key
		return []byte{askKey}, false, nil
	}
	return nil, false, malformed("an answer to a proof")
}

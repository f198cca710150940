package wire

import (
	"errors"
	"fmt"
)

// Error is the server's refusal of a command or of a login. The connection lives on unless it was a login.
type Error struct {
	Code    uint16
	State   string // SQLSTATE, five characters; empty before the login
	Message string
}

func (e *Error) Error() string {
	if e.State == "" {
		return fmt.Sprintf("Error %d: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("Error %d (%s): %s", e.Code, e.State, e.Message)
}

// MaxMessage bounds the text of a server's error, in bytes; servers end it at 512 (MYSQL_ERRMSG_SIZE).
const MaxMessage = 2 << 10

// ErrMalformed says that what the server sent is not the protocol. Nothing more can be read from the connection.
var ErrMalformed = errors.New("malformed packet")

func malformed(what string) error { return fmt.Errorf("%w: %s", ErrMalformed, what) }

// parseError reads an ERR packet. It returns an *Error, or ErrMalformed.
func parseError(p []byte) error {
	if len(p) < 3 || p[0] != 0xff {
		return malformed("an error without its number")
	}
	e := &Error{Code: uint16(p[1]) | uint16(p[2])<<8}
	p = p[3:]
	if len(p) >= 6 && p[0] == '#' {
		e.State = string(p[1:6])
		p = p[6:]
	}
	e.Message = string(p[:min(len(p), MaxMessage)])
	return e
}

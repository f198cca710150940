package tunnel

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Jump is a host that ssh logs in to. It is comparable.
type Jump struct {
	User string // "" for ssh's own choice
	Host string // a name, an address, or an alias of ssh's configuration
	Port int    // 0 for ssh's own choice
}

// ErrJump says that a jump host is written wrongly.
var ErrJump = errors.New("the jump host is not usable: the form is ssh://user@host:22")

// ParseJump reads ssh://user@host:port; user and port may be left out.
func ParseJump(text string) (j Jump, err error) {
	bad := func(why string) (Jump, error) { return Jump{}, fmt.Errorf("%w: %s", ErrJump, why) }
	u, err := url.Parse(text)
	if err != nil { // the error would repeat a password
		return bad("it is not a URL")
	}
	if u.Scheme != "ssh" || u.Opaque != "" {
		return bad("it does not begin with ssh://")
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return bad("nothing may follow the port")
	}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			return bad("ssh takes no password from a URL: use a key or an agent")
		}
		if j.User = u.User.Username(); j.User == "" {
			return bad("the user is empty")
		}
	}
	j.Host = u.Hostname()
	if p := u.Port(); p != "" {
		if j.Port, err = strconv.Atoi(p); err != nil || j.Port < 1 || j.Port > 65535 {
			return bad("the port is not between 1 and 65535")
		}
	}
	return j, j.check()
}

// shellSigns mean something to the shell that runs a ProxyCommand of ssh's configuration, with the host and the user in
// it, or to ssh.
const shellSigns = "%[]/?#\"'<>`|;&$(){}"

// check refuses what ssh would read as an option, and what a shell would.
func (j Jump) check() error {
	if j.Host == "" {
		return fmt.Errorf("%w: no host is named", ErrJump)
	}
	// a user may have a domain: dom\user, user@dom
	signs := map[string]string{"host": shellSigns + `@\`, "user": shellSigns}
	for what, s := range map[string]string{"host": j.Host, "user": j.User} {
		switch {
		case !utf8.ValidString(s), strings.ContainsAny(s, signs[what]), strings.HasSuffix(s, `\`):
			return fmt.Errorf("%w: the %s has characters that no name of a %[2]s has", ErrJump, what)
		case strings.HasPrefix(s, "-"), strings.ContainsFunc(s, func(r rune) bool {
			return unicode.IsSpace(r) ||
				!unicode.IsPrint(r)
		}):
			return fmt.Errorf("%w: the %s begins with a hyphen or has blanks", ErrJump, what)
		}
	}
	return nil
}

// MarshalText writes the form that ParseJump reads; nothing for the zero Jump.
func (j Jump) MarshalText() ([]byte, error) {
	if j == (Jump{}) {
		return nil, nil
	}
	return []byte(j.String()), nil
}

// UnmarshalText reads what MarshalText writes.
func (j *Jump) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*j = Jump{}
		return nil
	}
	*j, err = ParseJump(string(b))
	return err
}

// String returns the form that ParseJump reads.
func (j Jump) String() string {
	u := url.URL{Scheme: "ssh", Host: j.Host}
	if strings.Contains(j.Host, ":") {
		u.Host = "[" + j.Host + "]"
	}
	if j.Port > 0 {
		u.Host += ":" + strconv.Itoa(j.Port)
	}
	if j.User != "" {
		u.User = url.User(j.User)
	}
	return u.String()
}

package endpoint

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// TrustedAccount reports whether an account of this machine is one that servers of MySQL's family run as (root, mysql,
// mariadb), or Dyno's own.
func TrustedAccount(uid int) bool { return trusted(uid, "mysql", "mariadb") }

// Trusted is TrustedAccount for the family that the scheme names. Whoever rules one server has its account, and no
// business with the passwords of another family's.
func (s Spec) Trusted(uid int) bool {
	if s.Scheme == Postgres {
		return trusted(uid, "postgres")
	}
	return TrustedAccount(uid)
}

func trusted(uid int, accounts ...string) bool {
	if uid == 0 || uid == os.Geteuid() {
		return true
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	return err == nil && slices.Contains(accounts, u.Username)
}

// KnownAccount returns the account of this machine that answers on a connection, empty where it is not of this
// machine. It is an error when a server of another account was there at earlier logins: while a server is down, anybody
// can take its port from 1024 on, or its socket's name in a directory for all.
func (s *Spec) KnownAccount(c net.Conn) (owner string, err error) {
	if s.ServerUID != 0 || s.Jump != (tunnel.Jump{}) {
		return "", nil
	}
	was, err := s.Known.Of(s.Place())
	if err != nil {
		return "", err
	}
	accounts := Values(was, ByAccount)
	uid, here, told := listensThere(c)
	switch {
	case !here && !told:
		return "", nil // an address moves to another machine and back, see Spec.Verified for who is there
	case !told:
		if len(accounts) == 0 && !s.OnlyTrusted {
			return "", nil
		}
		err = errors.New("the kernel does not report which account answers")
	case uid == 0 || uid == os.Geteuid() || slices.Contains(accounts, strconv.Itoa(uid)),
		len(accounts) == 0 && (!s.OnlyTrusted || s.Trusted(uid)):
		return strconv.Itoa(uid), nil
	case len(accounts) == 0:
		err = fmt.Errorf("%s answers, which is not an account of database servers", userNamed(strconv.Itoa(uid)))
	default:
		err = fmt.Errorf("%s answers, and at an earlier login it was %s", userNamed(strconv.Itoa(uid)),
			userNamed(accounts[0]))
	}
	return "", &Error{
		Op: "log in at", Kind: NotAServer, Target: s.Where(), Err: err,
		Fix: "someone may have taken the server's place while it was down; no password was sent. If this is the " +
			"server, `dyno target trust` with this target remembers the account",
	}
}

// userNamed names an account for people.
func userNamed(uid string) string {
	if u, err := user.LookupId(uid); err == nil {
		return fmt.Sprintf("user %s (%s)", uid, u.Username)
	}
	return "user " + uid
}

// listensThere returns the account whose process has the other end of a connection; told says that it is known, here
// that it must be one of this machine.
func listensThere(c net.Conn) (uid int, here, told bool) {
	switch c := c.(type) {
	case *net.UnixConn:
		_, uid, err := host.Peer(c)
		return uid, true, err == nil
	case *net.TCPConn:
		at, ok := c.RemoteAddr().(*net.TCPAddr)
		uid, told := host.Answers(c)
		return uid, ok && at.IP.IsLoopback(), told
	}
	return 0, false, false
}

package target

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"unicode"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/wire"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// KindOf returns the kind of any error that a target's connections returned, wrapped or not.
func KindOf(err error) endpoint.Kind {
	var e *endpoint.Error
	if errors.As(err, &e) && e.Kind != endpoint.Unknown {
		return e.Kind
	}
	return classify(err)
}

// HintOf returns what the user can do about an error, "" when nothing is known. Errors tell it by a method Hint.
func HintOf(err error) string {
	if text := endpoint.HintOf(err); text != "" {
		return text
	}
	return hint(KindOf(err), err, nil)
}

// ServerErrorNumber returns the number the server gave its error; not ok for errors that are not the server's own.
func ServerErrorNumber(err error) (uint16, bool) {
	if n, _, ok := serverError(err); ok {
		return n, true
	}
	return 0, false
}

// IsOwnFunction reports what the answer to SELECT NAME(), in a schema where nobody can store a function, says of the
// name: that it is one of the server's own functions, or a keyword, which are given no or too few parameters there.
func IsOwnFunction(answer error) bool {
	const (
		syntaxError         = 1064
		wrongParameterCount = 1582
		wrongParameters     = 1583
	)
	n, _ := ServerErrorNumber(answer)
	return answer == nil || n == syntaxError || n == wrongParameterCount || n == wrongParameters
}

// serverError returns number and text of the server's own error, whichever way it came.
func serverError(err error) (number uint16, message string, ok bool) {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number, e.Message, true
	}
	var w *wire.Error
	if errors.As(err, &w) {
		return w.Code, w.Message, true
	}
	return 0, "", false
}

// wrap adds to an error of a server what was attempted, where, and what to do. A nil error stays nil.
func wrap(s endpoint.Spec, op string, err error) error {
	if err == nil {
		return nil
	}
	var e *endpoint.Error
	if errors.As(err, &e) {
		if e.Op == op {
			return err
		}
		return fmt.Errorf("%s: %w", op, err)
	}
	brief(err)
	k := classify(err)
	advice := hint(k, err, &s)
	err = short(err) // database/sql quotes a value that it cannot convert
	return &endpoint.Error{Op: op, Kind: k, Target: s.Where(), Fix: advice, Err: err}
}

// LoginRefused reports whether err is the answer of a server that is there and does not let Dyno in: the account, its
// password or this machine is not welcome, or no connection is free.
func LoginRefused(err error) bool {
	n, _ := ServerErrorNumber(err)
	k := KindOf(err)
	return k == endpoint.AuthFailed || k == endpoint.TooManyConnections || n == 1129
}

// classify looks at an error of the driver, the network or the server.
// Numbers: https://dev.mysql.com/doc/mysql-errors/9.0/en/server-error-reference.html and
// https://mariadb.com/kb/en/mariadb-error-code-reference/.
func classify(err error) endpoint.Kind {
	if err == nil {
		return endpoint.Unknown
	}
	if n, ok := ServerErrorNumber(err); ok {
		switch n {
		case 1045, 1698, 1130, 1251, 1275, 1524, 1820, 1862, 1873, 3118, 3955, 4151:
			return endpoint.AuthFailed
		case 1129:
			return endpoint.Refused
		case 1040, 1203, 1226:
			return endpoint.TooManyConnections
		case 1049:
			return endpoint.NoSuchDatabase
		case 1044, 1142, 1143, 1227, 1370, 1095, 1410, 1419, 4166:
			return endpoint.Denied
		case 3159:
			return endpoint.TLSFailed
		case 1053, 1077, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 3169, 4031:
			return endpoint.Gone
		}
		return endpoint.Unknown
	}
	var dns *net.DNSError
	var jump *tunnel.Error
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &dns) && !dns.IsTimeout:
		return endpoint.UnknownHost
	case isTLS(err), errors.Is(err, errWantsPassword), errors.As(err, new(*endpoint.ChangedError)):
		return endpoint.TLSFailed
	case errors.Is(err, errTooLong):
		return endpoint.Gone
	case errors.Is(err, context.Canceled):
		return endpoint.Unknown
	case errors.As(err, &jump):
		return endpoint.JumpFailed
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) &&
		timeout.Timeout():
		return endpoint.Timeout
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EHOSTUNREACH),
		errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.ENOTSOCK):
		return endpoint.Refused
	case errors.Is(err, mysql.ErrNativePassword), errors.Is(err, mysql.ErrCleartextPassword),
		errors.Is(err, mysql.ErrOldPassword),
		errors.Is(err, mysql.ErrUnknownPlugin):
		return endpoint.AuthFailed
	case errors.Is(err, mysql.ErrOldProtocol), errors.Is(err, mysql.ErrMalformPkt):
		return endpoint.NotAServer
	case errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrPktSync),
		errors.Is(err, mysql.ErrPktSyncMul),
		errors.Is(err, mysql.ErrBusyBuffer), errors.Is(err, wire.ErrMalformed), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED),
		err.Error() == "bad connection": // the driver's own, which it does not export
		return endpoint.Gone
	}
	return endpoint.Unknown
}

func isTLS(err error) bool {
	var verify *tls.CertificateVerificationError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var roots x509.SystemRootsError
	return errors.Is(err, mysql.ErrNoTLS) || errors.As(err, &verify) || errors.As(err, &alert) ||
		errors.As(err, &record) || errors.As(err, &unknown) ||
		errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &roots) ||
		strings.Contains(err.Error(), "tls: ")
}

var (
	privilegeNeeded = lazyregexp.New(`need \(at least one of\) the (.+?) privilege`)
	commandDenied   = lazyregexp.New(
		`^(.+?) command denied to user '(?:[^']|'')*'@'(?:[^']|'')*'(?: for (?:table|column|routine) (.+?))?$`)
	databaseDenied = lazyregexp.New(`^Access denied for user ('(?:[^']|'')*'@'(?:[^']|'')*') to database '(.*)'$`)
)

// hint says what the user can do. s may be nil.
func hint(k endpoint.Kind, err error, s *endpoint.Spec) string {
	if s == nil {
		s = &endpoint.Spec{}
	}
	n, _ := ServerErrorNumber(err)
	if errors.Is(err, errTooLong) {
		return "check what listens there: no server that works says so much to a question of dyno's"
	}
	switch k {
	case endpoint.UnknownHost:
		return "the host name does not resolve: check its spelling and the DNS of this machine"
	case endpoint.Refused:
		switch {
		case n == 1129:
			return "the server blocked this machine after too many failed connects: run FLUSH HOSTS (or TRUNCATE " +
				"performance_schema.host_cache) there"
		case errors.Is(err, syscall.ENOENT):
			return "there is no such socket: is the server running, and is this the value of its variable socket?"
		case s.Network == "unix":
			return "nothing listens on this socket: is the server running?"
		}
		return "nothing listens on this address: is the server running, are host and port right, does its " +
			"bind_address allow connections from here?"
	case endpoint.Timeout:
		return "no answer in time: a firewall may drop the packets, or the server hangs; connect-timeout in the URL " +
			"allows more"
	case endpoint.NotAServer:
		return "something else than a MySQL or MariaDB server listens there: check the port (3306 is usual; 33060 is " +
			"MySQL's X protocol, which dyno does not speak)"
	case endpoint.TLSFailed:
		return tlsHint(err)
	case endpoint.AuthFailed:
		return authHint(n, err, s)
	case endpoint.NoSuchDatabase:
		return "leave the database out of the TARGET, or create it"
	case endpoint.TooManyConnections:
		if n == 1203 || n == 1226 {
			return "the account's own limit is reached: raise its MAX_USER_CONNECTIONS (dyno needs up to 8 " +
				"connections, plus one for each thread of a load)"
		}
		return "the server's max_connections is reached: end sessions that are not needed, or raise it"
	case endpoint.Denied:
		return deniedHint(err)
	case endpoint.JumpFailed:
		return "ssh must get to the jump host without asking anything, see ssh -o BatchMode=yes with the same host, " +
			"and the jump host to the server's address"
	case endpoint.Elsewhere:
		return "connect to one server by its own address, not through a balancer or a name that moves, and try " +
			"again; if it was restarted, just try again"
	case endpoint.Gone:
		return "the connection broke: the server stopped, crashed or killed it; its error log says which"
	}
	return ""
}

func tlsHint(err error) string {
	var host x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var changed *endpoint.ChangedError
	switch n, _ := ServerErrorNumber(err); {
	case errors.As(err, &changed):
		return changed.Hint()
	case errors.Is(err, errWantsPassword):
		return "encrypt the connection with tls=required, better tls=verify-full and ssl-ca; or give the server's " +
			"own key as server-public-key-path; " +
			"get-server-public-key=1 takes whichever key comes, which is for a network that you trust"
	case strings.Contains(err.Error(), "protocol version"), strings.Contains(err.Error(), "no supported versions"):
		return "the server speaks no TLS that is new enough (1.2, or tls-version): give it another, or accept an old " +
			"one with tls-version=TLSv1 on a network that you trust"
	case n == 3159:
		return "the server takes only encrypted connections: use tls=required, or better tls=verify-full with ssl-ca"
	case errors.Is(err, mysql.ErrNoTLS):
		return "the server offers no TLS: give it a certificate, or use tls=disabled if the network is trusted"
	case errors.As(err, &host):
		return "the certificate is for another host: connect by a name it holds, give that name as server-name, or " +
			"use tls=verify-ca when only the CA matters"
	case errors.As(err, &unknown):
		return "the certificate is not signed by a trusted CA: give the right CA's file as ssl-ca"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired, or a clock is wrong"
	case strings.Contains(err.Error(), "remote error") && strings.Contains(err.Error(), "certificate"):
		return "the server wants a client certificate that it trusts: give ssl-cert and ssl-key"
	case strings.Contains(err.Error(), "handshake failure"):
		return "client and server have no TLS version or cipher in common: the server may be too old; tls=disabled " +
			"works on a trusted network"
	}
	return "encryption failed: check the certificate files and the tls mode"
}

func authHint(n uint16, err error, s *endpoint.Spec) string {
	const ways = "DYNO_PASSWORD, a defaults file ([client] password=…) or the prompt"
	plain := ""
	if s.Network == "tcp" && s.Mode() == endpoint.TLSDisabled { // a demand for TLS may look like a wrong password
		plain = "; the account or the server may also demand TLS: try tls=required"
	}
	switch {
	case n == 1130:
		return "the server knows no account for this machine: create one, as in CREATE USER 'dyno'@'this-host' …"
	case n == 1820 || n == 1862:
		return "the password has expired: set a new one with ALTER USER"
	case n == 3118 || n == 4151 || n == 3955:
		return "the account is locked: ALTER USER … ACCOUNT UNLOCK, or use another"
	case n == 0 && errors.Is(err, mysql.ErrOldPassword):
		return "the account still has a password hash from before MySQL 4.1: set its password again"
	case n == 1251 || n == 1524 || n == 0:
		return "the account logs in by a plugin that dyno does not speak: use an account with caching_sha2_password, " +
			"mysql_native_password, ed25519 or unix_socket"
	case s.Password.Empty() && s.User == "":
		return "no user and no password were given: name the user in the URL, and give the password by " + ways
	case s.Password.Empty():
		return "no password was given: give it by " + ways + "; an account that logs in by unix_socket or " +
			"auth_socket needs the Unix user of the same name" + plain
	}
	return "user or password is wrong, or the account is not allowed from this machine: the password came from " +
		cmp.Or(s.PasswordFrom, ways) + plain
}

// deniedHint names the grant that is missing, as far as the server's message tells. The user of the message is not
// always the account: its host is the one that connects, as 'dyno'@'localhost', while the account is
// 'dyno'@'127.0.0.1', which a GRANT to the other does not change.
func deniedHint(err error) string {
	const account = " TO the account that SELECT CURRENT_USER() shows"
	n, message, ok := serverError(err)
	if !ok {
		return ""
	}
	if n == 1095 {
		return "the privilege to end others' sessions is missing: GRANT CONNECTION_ADMIN ON *.*" + account +
			" (on MariaDB CONNECTION ADMIN, before MySQL 8.0 SUPER)"
	}
	if m := privilegeNeeded.FindStringSubmatch(message); m != nil {
		p := strings.ReplaceAll(m[1], " or ", ", ")
		p, _, _ = strings.Cut(p, ",")
		return "the privilege is missing: GRANT " + strings.TrimSpace(p) + " ON *.* TO the account"
	}
	if m := commandDenied.FindStringSubmatch(message); m != nil {
		on := "the object"
		if m[2] != "" {
			on = strings.Trim(m[2], "'")
			if on != m[2] && strings.Contains(on, ".") { // MySQL says no schema: it is in the table's own name
				on = "the object"
			} else if strings.ContainsFunc(on, func(r rune) bool {
				return r != '.' && r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
			}) {
				on = "the object" // a tenant chooses names, and MySQL does not quote them
			} else if !strings.Contains(on, ".") {
				on = "its schema's " + on
			}
		}
		return "the privilege is missing: GRANT " + m[1] + " ON " + on + account
	}
	if m := databaseDenied.FindStringSubmatch(message); m != nil {
		return "the account has no privilege on the database: GRANT SELECT ON " + quotePattern(m[2]) + ".*" + account
	}
	return "a privilege is missing, see SHOW GRANTS: " + message
}

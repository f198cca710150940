package conn

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// SQLState returns the code that the server gave its error; not ok for errors that are not the server's own.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
func SQLState(err error) (code string, ok bool) {
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) {
		return e.Code, true
	}
	return "", false
}

// KindOf returns the kind of any error that a target's sessions returned, wrapped or not.
func KindOf(err error) endpoint.Kind {
	if k := endpoint.KindOf(err); k != endpoint.Unknown {
		return k
	}
	return classify(err)
}

// HintOf returns what the user can do about an error, "" when nothing is known.
func HintOf(err error) string {
	if text := endpoint.HintOf(err); text != "" {
		return text
	}
	return hint(KindOf(err), err, &endpoint.Spec{})
}

// wrap adds to an error what was attempted, where, and what to do. A nil error stays nil.
func wrap(s endpoint.Spec, op string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*endpoint.Error)(nil); errors.As(err, &e) {
		if e.Op == op {
			return e
		}
		return fmt.Errorf("%s: %w", op, e)
	}
	k := classify(err)
	return &endpoint.Error{Op: op, Kind: k, Target: s.Where(), Fix: hint(k, err, &s), Err: plain(err)}
}

// plain takes off what the driver puts before an error of a login: user, database and address, which the message names
// already.
func plain(err error) error {
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) {
		return e
	}
	var login *pgconn.ConnectError
	if !errors.As(err, &login) {
		return err
	}
	for e := error(login); e != nil; {
		if many, ok := e.(interface{ Unwrap() []error }); ok {
			e = many.Unwrap()[0]
			continue
		}
		if text := e.Error(); !strings.HasPrefix(text, "failed to connect to") &&
			!strings.Contains(text, "(localhost): ") && !strings.HasPrefix(text, "dial error: ") {
			return e
		}
		e = errors.Unwrap(e)
	}
	return err
}

// classify looks at an error of the driver, the network or the server.
func classify(err error) endpoint.Kind {
	if err == nil {
		return endpoint.Unknown
	}
	if code, ok := SQLState(err); ok {
		switch code {
		case "28P01", "28000":
			return endpoint.AuthFailed
		case "3D000":
			return endpoint.NoSuchDatabase
		case "53300":
			return endpoint.TooManyConnections
		case "42501":
			return endpoint.Denied
		case "57014": // query_canceled: statement_timeout, or a user's wish
			return endpoint.Timeout
		case "57P03": // cannot_connect_now: it starts, stops or recovers
			return endpoint.Refused
		case "57P01", "57P02", "57P05", "25P03", "25P04":
			return endpoint.Gone
		}
		if strings.HasPrefix(code, "08") {
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
	case isTLS(err), errors.Is(err, errNoTLS), errors.As(err, new(*endpoint.ChangedError)), wantsPassword(err):
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
		errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.ENOTSOCK):
		return endpoint.Refused
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED),
		errors.Is(err, pgconn.ErrConnClosed):
		return endpoint.Gone
	}
	return endpoint.Unknown
}

// wantsPassword reports whether a login was given up because the password would have been sent in plain text.
func wantsPassword(err error) bool { return strings.Contains(err.Error(), "require_auth") }

func isTLS(err error) bool {
	var verify *tls.CertificateVerificationError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verify) || errors.As(err, &alert) || errors.As(err, &record) || errors.As(err, &unknown) ||
		errors.As(err, &name) || errors.As(err, &invalid) || strings.Contains(err.Error(), "tls: ")
}

// hint says what the user can do.
func hint(k endpoint.Kind, err error, s *endpoint.Spec) string {
	code, _ := SQLState(err)
	if errors.Is(err, errTooLong) {
		return "check what listens there: no server that works says so much to a question of dyno's"
	}
	switch k {
	case endpoint.UnknownHost:
		return "the host name does not resolve: check its spelling and the DNS of this machine"
	case endpoint.Refused:
		switch {
		case code == "57P03":
			return "the server is starting, stopping or recovering: try again, and see its log"
		case errors.Is(err, syscall.ENOENT):
			return "there is no such socket: is the server running, and is the directory one of its " +
				"unix_socket_directories?"
		case s.Network == "unix":
			return "nothing listens on this socket: is the server running?"
		}
		return "nothing listens on this address: is the server running, are host and port right, does its " +
			"listen_addresses allow connections from here?"
	case endpoint.Timeout:
		if code != "" {
			return "the statement was cancelled: it took longer than statement_timeout, or a user cancelled it"
		}
		return "no answer in time: a firewall may drop the packets, or the server hangs; connect-timeout in the URL " +
			"allows more"
	case endpoint.NotAServer:
		return "something else than a PostgreSQL server listens there: check the port (5432 is usual)"
	case endpoint.TLSFailed:
		return tlsHint(err)
	case endpoint.AuthFailed:
		return authHint(err, s)
	case endpoint.NoSuchDatabase:
		return "name a database that is there, such as postgres: " +
			"without one in the URL it is the one with the user's name"
	case endpoint.TooManyConnections:
		return "max_connections, or the limit of the account or the database, is reached: end sessions that are not " +
			"needed, or raise it; an account with pg_use_reserved_connections (16 and later) still gets in"
	case endpoint.Denied:
		return "a privilege is missing: for what Dyno reads of the server, GRANT pg_monitor TO the account"
	case endpoint.JumpFailed:
		return "ssh must get to the jump host without asking anything, see ssh -o BatchMode=yes with the same host, " +
			"and the jump host to the server's address"
	case endpoint.Gone:
		return "the connection broke: the server stopped, crashed or ended it; its log says which"
	}
	return ""
}

func tlsHint(err error) string {
	var name x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var changed *endpoint.ChangedError
	switch {
	case errors.As(err, &changed):
		return changed.Hint()
	case wantsPassword(err):
		return "the server asks for the password itself, and the connection is not encrypted: use sslmode=require, " +
			"better verify-full with sslrootcert; sslmode=disable sends it, which is for a network that you trust"
	case errors.Is(err, errNoTLS):
		return "set ssl = on and a certificate on the server, or use sslmode=disable if the network is trusted"
	case errors.As(err, &name):
		return "the certificate is for another host: connect by a name it holds, give that name as server-name, or " +
			"use sslmode=verify-ca when only the CA matters"
	case errors.As(err, &unknown):
		return "the certificate is not signed by a trusted CA: give the right CA's file as sslrootcert"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired, or a clock is wrong"
	case strings.Contains(err.Error(), "remote error") && strings.Contains(err.Error(), "certificate"):
		return "the server wants a client certificate that it trusts: give sslcert and sslkey"
	}
	return "encryption failed: check the certificate files and sslmode"
}

func authHint(err error, s *endpoint.Spec) string {
	const ways = "DYNO_PASSWORD, PGPASSWORD, ~/.pgpass or the prompt"
	text := err.Error()
	switch {
	case strings.Contains(text, "pg_hba.conf") && strings.Contains(text, "no encryption") && s.Mode() != "":
		return "pg_hba.conf has no line for this account, database and address without encryption: use " +
			"sslmode=require, or add a line and SELECT pg_reload_conf()"
	case strings.Contains(text, "pg_hba.conf"):
		return "pg_hba.conf has no line that lets this account in from here: add one and SELECT pg_reload_conf()"
	case strings.Contains(text, "Peer authentication failed"):
		return "pg_hba.conf asks for the system user of the same name on this socket: run dyno as that user, or " +
			"connect over TCP with a password"
	case strings.Contains(text, "does not exist"):
		return "name the account in the URL, as in postgres://user@host/database"
	case s.Password.Empty() && s.NoPassword != "":
		return "no password was given (" + s.NoPassword + "): give it by " + ways
	case s.Password.Empty():
		return "no password was given: give it by " + ways
	}
	return "user or password is wrong: the password came from " + cmp.Or(s.PasswordFrom, ways)
}

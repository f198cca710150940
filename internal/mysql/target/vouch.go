package target

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/wire"
)

// vouched logs in once to find out whose the new certificate of a MariaDB is. From 11.4 on, one that was given none
// makes itself another at each start, and proves to those who log in with a password that it knows the password too,
// and that nobody is between. It returns the certificate that is proved so; nil for none, whatever the reason. Whoever
// is between learns only afterwards that it is no use to claim to be the server: with what was sent to him he may have
// logged in there himself. So this is for users who want it, see Trust.
func vouched(ctx context.Context, s endpoint.Spec) *x509.Certificate {
	if s.Password.Empty() {
		return nil
	}
	conn, err := s.Reach(ctx, s.Network, s.Where())
	if err != nil {
		return nil
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	head, err := greeting(conn)
	if err == nil {
		_, err = s.KnownAccount(conn)
	}
	if err != nil {
		return nil
	}
	h := wire.Handshake{User: s.User, Password: s.Password.Reveal(), Encrypt: true}
	ask, _, err := h.Feed(head)
	if v := h.Greeting().Version; err != nil || !strings.Contains(v, "MariaDB") || !ParseVersion(v).AtLeast(11, 4, 0) {
		return nil
	}
	if _, err := conn.Write(ask); err != nil {
		return nil
	}
	c := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}) //nolint:gosec // what is sent over it gives nothing away
	if err := c.HandshakeContext(ctx); err != nil {
		return nil
	}
	cert := c.ConnectionState().PeerCertificates[0]
	if _, err := c.Write(h.Encrypted()); err != nil {
		return nil
	}
	for b := make([]byte, 4096); ; {
		n, err := c.Read(b)
		if err != nil {
			return nil
		}
		send, done, err := h.Feed(b[:n])
		switch {
		case err != nil:
			return nil
		case done:
			_, _ = c.Write(wire.AppendQuit(nil)) // a good-bye that does not arrive is none
			if h.Vouched(sha256.Sum256(cert.Raw)) {
				return cert
			}
			return nil
		case len(send) > 0:
			if _, err := c.Write(send); err != nil {
				return nil
			}
		}
	}
}

// proved asks whoever shows another certificate than the remembered one for a proof, where the user lets it decide. It
// reports whether the certificate is remembered now in place of the one before.
func proved(ctx context.Context, s endpoint.Spec, err error) bool {
	var e *endpoint.ChangedError
	if !errors.As(err, &e) || e.Is == "" || !slices.ContainsFunc(e.Was, func(m endpoint.Mark) bool { return m.Proof }) {
		return false
	}
	e.Sent = true
	cert := vouched(ctx, s)
	return cert != nil && s.Known.Update(s.Place(), func(have []endpoint.Mark) []endpoint.Mark {
		have = slices.DeleteFunc(have, func(m endpoint.Mark) bool { return m.Proof })
		return append(have, endpoint.Mark{By: endpoint.ByCertificate, Value: endpoint.FingerprintOf(cert), Proof: true})
	}) == nil
}

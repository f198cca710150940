package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
)

var tlsVersions = map[string]uint16{
	"1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12,
	"1.3": tls.VersionTLS13,
}

// Verified reports whether the server's certificate is checked against a CA.
func (s Spec) Verified() bool {
	m := s.Mode()
	return m == TLSVerifyCA || m == TLSVerifyFull || m == TLSRequired && s.CA != ""
}

// verifyRemembered takes any certificate at first, and from then on that one alone.
func verifyRemembered(s Spec, c *tls.Config) {
	c.InsecureSkipVerify = true // replaced by VerifyConnection
	c.VerifyConnection = func(st tls.ConnectionState) error {
		if len(st.PeerCertificates) == 0 {
			return errors.New("tls: the server sent no certificate")
		}
		if s.Network == "unix" {
			return nil
		}
		is := FingerprintOf(st.PeerCertificates[0])
		was, err := s.Known.Of(s.Place())
		was = slices.DeleteFunc(was, func(m Mark) bool { return m.By == ByAccount })
		if len(was) > 0 && !slices.Contains(Values(was, ByCertificate), is) {
			err = &ChangedError{Was: was, Is: is}
		}
		return err
	}
}

// TLSConfig returns nil for no encryption. fallback allows plain text when the server has no TLS.
func (s Spec) TLSConfig() (c *tls.Config, fallback bool, err error) {
	mode := s.Mode()
	if mode == TLSDisabled {
		return nil, false, nil
	}
	c = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.ServerName}
	if s.MinTLS != "" {
		v, ok := tlsVersions[s.MinTLS]
		if !ok {
			return nil, false, BadCertificate("set up TLS", fmt.Errorf("unknown version %q", s.MinTLS))
		}
		c.MinVersion = v
	}
	if c.ServerName == "" {
		host, _, err := net.SplitHostPort(s.Address)
		if err != nil {
			host = "localhost" // a Unix socket, where TLS was asked for
		}
		c.ServerName = host
	}
	if s.CA != "" {
		pem, _, err := ReadFile(s.CA)
		if err != nil {
			return nil, false, BadCertificate("read ssl-ca", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, false, BadCertificate("read ssl-ca", fmt.Errorf("%s holds no certificate in PEM form", s.CA))
		}
	}
	if (s.Cert == "") != (s.Key == "") {
		return nil, false, BadCertificate("read the client certificate",
			errors.New("ssl-cert and ssl-key need each other"))
	}
	if s.Cert != "" {
		pair, err := keyPair(s.Cert, s.Key)
		if err != nil {
			return nil, false, BadCertificate("read the client certificate", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	switch mode {
	case TLSVerifyFull: // the standard library does it all
	case TLSVerifyCA:
		verifyChainOnly(c)
	case TLSRequired:
		if c.RootCAs != nil {
			verifyChainOnly(c)
		} else {
			verifyRemembered(s, c)
		}
	case TLSPreferred:
		verifyRemembered(s, c)
		fallback = true
	default:
		return nil, false, BadCertificate("set up TLS", fmt.Errorf("unknown mode %q", mode))
	}
	return c, fallback, nil
}

// keyPair reads the client's certificate and its key.
func keyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, _, err := ReadFile(certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, _, err := ReadFile(keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// verifyChainOnly checks that a trusted CA signed the certificate, for any host.
func verifyChainOnly(c *tls.Config) {
	c.InsecureSkipVerify = true // replaced by VerifyConnection
	c.VerifyConnection = func(st tls.ConnectionState) error {
		if len(st.PeerCertificates) == 0 {
			return errors.New("tls: the server sent no certificate")
		}
		o := x509.VerifyOptions{Roots: c.RootCAs, Intermediates: x509.NewCertPool()}
		for _, i := range st.PeerCertificates[1:] {
			o.Intermediates.AddCert(i)
		}
		if _, err := st.PeerCertificates[0].Verify(o); err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: st.PeerCertificates, Err: err}
		}
		return nil
	}
}

// BadCertificate is the error of a file or mode of encryption that cannot be used.
func BadCertificate(op string, err error) error {
	return &Error{Op: op, Kind: BadTarget, Err: err, Fix: "ssl-ca, ssl-cert and ssl-key name PEM files; tls is " +
		"disabled, preferred, required, verify-ca or verify-full"}
}

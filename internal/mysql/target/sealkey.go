package target

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// sealKey registers the key to seal passwords with and returns the name that the driver knows it by.
func sealKey(serverKey string) (string, error) {
	b, _, err := endpoint.ReadFile(serverKey)
	if err != nil {
		return "", endpoint.BadCertificate("read server-public-key-path", err)
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return "", endpoint.BadCertificate("read server-public-key-path",
			fmt.Errorf("%s holds no key in PEM form", serverKey))
	}
	k, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return "", endpoint.BadCertificate("read server-public-key-path", err)
	}
	key, ok := k.(*rsa.PublicKey)
	if !ok {
		return "", endpoint.BadCertificate("read server-public-key-path", fmt.Errorf("%s holds no RSA key", serverKey))
	}
	sum := sha256.Sum256(block.Bytes)
	name := hex.EncodeToString(sum[:])
	mysql.RegisterServerPubKey(name, key)
	return name, nil
}

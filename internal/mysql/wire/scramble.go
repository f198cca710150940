package wire

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
)

// The ways to prove a password that this client knows.
const (
	nativePassword = "mysql_native_password"
	cachingSHA2    = "caching_sha2_password"
)

// scrambleLen is the length of what the server gives to mix the password with.
const scrambleLen = 20

// native returns SHA1(password) XOR SHA1(scramble, SHA1(SHA1(password))), nothing for no password.
func native(scramble []byte, password string) []byte {
	if password == "" {
		return nil
	}
	stage1 := sha1.Sum([]byte(password))
	stage2 := sha1.Sum(stage1[:])
	h := sha1.New()
	h.Write(scramble)
	h.Write(stage2[:])
	out := h.Sum(nil)
	for i := range out {
		out[i] ^= stage1[i]
	}
	return out
}

// caching returns SHA256(password) XOR SHA256(SHA256(SHA256(password)), scramble), nothing for no password.
func caching(scramble []byte, password string) []byte {
	if password == "" {
		return nil
	}
	stage1 := sha256.Sum256([]byte(password))
	stage2 := sha256.Sum256(stage1[:])
	h := sha256.New()
	h.Write(stage2[:])
	h.Write(scramble)
	out := h.Sum(nil)
	for i := range out {
		out[i] ^= stage1[i]
	}
	return out
}

// sealPassword encrypts the password, mixed with the scramble, for the server that sent the key.
func sealPassword(key, scramble []byte, password string) ([]byte, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, malformed("a public key that is not PEM")
	}
	pub, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, malformed("a public key that cannot be read")
	}
	k, ok := pub.(*rsa.PublicKey)
	if !ok {
		return nil, malformed("a public key that is not RSA")
	}
	text := append([]byte(password), 0)
	for i := range text {
		text[i] ^= scramble[i%len(scramble)]
	}
	out, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, k, text, nil)
	if err != nil {
		return nil, malformed("a public key that is too short for the password")
	}
	return out, nil
}

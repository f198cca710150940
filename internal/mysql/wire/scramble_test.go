package wire

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"testing"
)

// TestProofs verifies proofs as a server does, from the hash of the password that it keeps.
func TestProofs(t *testing.T) {
	scramble := []byte("0123456789abcdefghij")
	// SELECT PASSWORD('secret') and SELECT SHA1(UNHEX(SHA1('secret'))): *14E65567ABDB5135D0CFD9A70B3032C179A49EE7
	kept, _ := hex.DecodeString("14e65567abdb5135d0cfd9a70b3032c179a49ee7")
	proof := native(scramble, "secret")
	h := sha1.New()
	h.Write(scramble)
	h.Write(kept)
	stage1 := h.Sum(nil)
	for i := range stage1 {
		stage1[i] ^= proof[i]
	}
	if got := sha1.Sum(stage1); !bytes.Equal(got[:], kept) {
		t.Errorf("native proof % x", proof)
	}
	if native(scramble, "") != nil || caching(scramble, "") != nil {
		t.Error("no password has a proof")
	}
	if got := caching(scramble, "secret"); len(got) != 32 || bytes.Equal(got, caching(scramble, "Secret")) ||
		bytes.Equal(got, caching([]byte("other"), "secret")) {
		t.Errorf("caching proof % x", got)
	}
}

func TestSealPassword(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	pub := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	scramble := []byte("0123456789abcdefghij")
	sealed, err := sealPassword(pub, scramble, "a password longer than the scramble")
	if err != nil {
		t.Fatal(err)
	}
	text, err := rsa.DecryptOAEP(sha1.New(), nil, key, sealed, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		text[i] ^= scramble[i%len(scramble)]
	}
	if string(text) != "a password longer than the scramble\x00" {
		t.Errorf("%q", text)
	}
	if _, err := sealPassword(pub, scramble, string(make([]byte, 300))); !errors.Is(err, ErrMalformed) {
		t.Errorf("a password longer than the key: %v", err)
	}
}

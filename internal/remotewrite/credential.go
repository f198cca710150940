package remotewrite

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Credential says where a password or token is: in an environment variable or in a file. It never holds one.
type Credential struct {
	Env  string
	File string
}

// read gets the secret. It is read for each request, so that one that was changed is found without a restart.
func (c Credential) read() (string, error) {
	var s string
	switch {
	case c.Env != "":
		if s = os.Getenv(c.Env); s == "" {
			return "", fmt.Errorf("environment variable %s is empty", c.Env)
		}
	case c.File != "":
		b, err := os.ReadFile(c.File)
		if err != nil {
			return "", fmt.Errorf("read the secret: %w", err)
		}
		if s = strings.TrimRight(string(b), "\r\n"); s == "" {
			return "", fmt.Errorf("%s is empty", c.File)
		}
	default:
		return "", errors.New("no environment variable or file is named for the password")
	}
	if strings.ContainsAny(s, "\r\n\x00") {
		return "", errors.New("the secret has more than one line")
	}
	return s, nil
}

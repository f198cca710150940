package sandbox

import (
	"os"
	"path/filepath"
)

// byVersion returns the options that a sandbox on a data directory sets for some versions alone; settings come after them, so any
// can be set otherwise.
func (s Server) byVersion(data string) []string {
	switch {
	case s.makesKeys():
		if _, err := os.Lstat(filepath.Join(data, certFile)); err != nil { // not made by us
			return nil
		}
		return []string{"--ssl-key=" + filepath.Join(data, keyFile), "--ssl-cert=" + filepath.Join(data, certFile)}
	case s.Flavor != "mariadb" && !older(s.Version, "5.7"):
		return []string{"--loose-mysqlx=OFF"} // its second port would be taken by the first sandbox
	}
	return nil
}

// makesKeys reports whether a server without a certificate makes itself one at each start: a key of 4096 bits, which takes a second
// with OpenSSL and up to 40 with the library in the vendor's archives. MySQL keeps the one that it makes with its data directory.
func (s Server) makesKeys() bool { return s.Flavor == "mariadb" && !older(s.Version, "11.4") }

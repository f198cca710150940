package sandbox

import (
	"os"
	"path/filepath"
)

// byVersion returns the options that a sandbox on a data directory sets for some versions alone; settings come after
// them, so any can be set otherwise.
func (s Server) byVersion(data string) []string {
	switch {
	case s.makesKeys():
		if _, err := os.Lstat(filepath.Join(data, certFile)); err != nil { // not made by us
			return nil
		}
		return []string{"--ssl-key=" + filepath.Join(data, keyFile), "--ssl-cert=" + filepath.Join(data, certFile)}
	case !s.Flavor.IsMariaDB() && !older(s.Version, "8"):
		return []string{"--loose-mysqlx=OFF"} // its second port would be taken by the first sandbox
	}
	return nil
}

// ownRedo reports whether a server takes no redo log but one of the size that it is set to. Without one it makes it,
// which loses nothing after an orderly shutdown (MySQL manual 5.5, Changing the Number or Size of InnoDB Redo Log
// Files).
func (s Server) ownRedo() bool { return !s.Flavor.IsMariaDB() && older(s.Version, "5.6.8") }

// makesKeys reports whether a server without a certificate makes itself one at each start: a key of 4096 bits, which
// takes a second with OpenSSL and up to 40 with the library in the vendor's archives. MySQL keeps the one that it makes
// with its data directory.
func (s Server) makesKeys() bool { return s.Flavor.IsMariaDB() && !older(s.Version, "11.4") }

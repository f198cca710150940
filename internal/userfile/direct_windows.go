package userfile

import "os"

// openDirect opens a directory that no link leads to now, which it did not before either.
func openDirect(path string) (*os.File, error) {
	if _, err := unlinked(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

//go:build !linux

package target

import "errors"

// duplicate fails here: nobody drives bare descriptors.
func duplicate(uintptr) (int, error) { return -1, errors.ErrUnsupported }

func farewell(int, []byte) error { return errors.ErrUnsupported }

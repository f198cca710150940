//go:build !linux && !darwin && !windows

package userfile

import (
	"errors"
	"os"
)

func openDirect(string) (*os.File, error) { return nil, errors.ErrUnsupported }

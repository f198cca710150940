//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
)

const (
	seekData = io.SeekStart // a file without holes
	seekHole = io.SeekEnd
)

// mustBeLinux refuses the rest, which is never called then.
func mustBeLinux() error {
	return hint(ErrNeedsLinux, "run dyno on Linux, or name a server of your own by its URL")
}

func (a account) session() *syscall.SysProcAttr { return nil }

func (a account) run(context.Context, []string, string, string, io.Reader) (string, error) {
	return "", ErrNeedsLinux
}

func shareBlocks(_, _ *os.File) error { return errors.ErrUnsupported }

func punch(*os.File, int64, int64) error { return errors.ErrUnsupported }

func syncFilesystem(*os.File) error { return errors.ErrUnsupported }

func openForWriting(*os.File) (bool, error) { return false, nil }

func signaller(int) (send func(syscall.Signal) error, free func(), err error) {
	return nil, nil, errors.ErrUnsupported
}

func mount(_, _, _ string) error { return errors.ErrUnsupported }

func bind(_, _ string) error { return errors.ErrUnsupported }

func detach(string) error { return errors.ErrUnsupported }

func unmountOne(string) error { return errors.ErrUnsupported }

func attach(string) (*os.File, error) { return nil, errors.ErrUnsupported }

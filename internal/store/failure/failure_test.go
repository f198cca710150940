package failure

import (
	"errors"
	"io/fs"
	"testing"
)

func TestError(t *testing.T) {
	full := errors.New("disk is full")
	e := error(&Error{Op: "keep trial 7", Path: "/x", Kind: full, Hint: "free some space", Err: fs.ErrPermission})
	if e.Error() != "keep trial 7 (/x): permission denied; free some space" || !errors.Is(e, full) ||
		!errors.Is(e, fs.ErrPermission) {
		t.Errorf("%v", e)
	}
	e = &Error{Op: "keep trial 7", Path: "/x", Err: fs.ErrPermission}
	if e.Error() != "keep trial 7 (/x): permission denied" || errors.Is(e, full) || !errors.Is(e, fs.ErrPermission) {
		t.Errorf("%v", e)
	}
}

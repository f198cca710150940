package host

import (
	"os"
	"testing"
)

func TestSnapshotOfThisProcess(t *testing.T) {
	dir := t.TempDir()
	h, err := Snapshot(os.Getpid(), dir, dir)
	if err != nil || h.ServerPID != os.Getpid() || h.CPUs.Or(0) <= 0 || h.MemBytes.Or(0) == 0 || h.Kernel == "" ||
		h.DatadirFree.Or(0) == 0 || !h.DatadirShared || h.Limits["max_open_files"] == 0 {
		t.Errorf("%+v, %v", h, err)
	}
	if h, _ := Snapshot(os.Getpid(), "", dir); h.DatadirFree.OK() || h.DatadirShared {
		t.Errorf("without a data directory: %+v", h)
	}
}

package host

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

func TestChildren(t *testing.T) {
	c := exec.Command("/bin/sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if all := Children(os.Getpid()); !slices.Contains(all, c.Process.Pid) {
		t.Errorf("%d is not among %v", c.Process.Pid, all)
	}
	if all := Children(c.Process.Pid); len(all) != 0 {
		t.Errorf("it has %v", all)
	}
	c.Process.Kill()
	c.Wait()
	if all := Children(os.Getpid()); slices.Contains(all, c.Process.Pid) {
		t.Errorf("%d has ended and is among %v", c.Process.Pid, all)
	}
}

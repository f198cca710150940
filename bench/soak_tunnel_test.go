//go:build bench

package bench

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// jumpHost is a real SSH server on this machine, which comes and goes.
type jumpHost struct {
	dir  string // its bin holds the ssh that knows it
	url  string
	port int
	argv []string
	attr syscall.SysProcAttr
	cmd  *exec.Cmd
}

func newJumpHost(t *testing.T) *jumpHost {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tree := os.Getenv("DYNO_TEST_SSHD")
	dir, err := os.MkdirTemp("", "dyno-soak-sshd-") // the server's user reads it
	must(err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(os.Chmod(dir, 0o755))
	u, err := user.Lookup("nobody") // as root it would need a user of its own on this machine
	must(err)
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	lib := filepath.Join(tree, "usr/lib/x86_64-linux-gnu")
	loader := func(name, path string) []string {
		return []string{
			lib + "/ld-linux-x86-64.so.2", "--library-path", lib, "--argv0", name,
			filepath.Join(tree, path),
		}
	}
	script := func(path string, argv ...string) {
		must(os.WriteFile(path, []byte("#!/bin/sh\nexec "+strings.Join(argv, " ")+` "$@"`+"\n"), 0o755))
	}
	for _, p := range []string{"sshd-session", "sshd-auth"} {
		script(dir+"/"+p, loader(p, "usr/lib/openssh/"+p)...)
	}
	for _, k := range []string{"host", "id"} {
		argv := append(loader("ssh-keygen", "usr/bin/ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", dir+"/"+k)
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		must(os.Chmod(dir+"/"+k+".pub", 0o644))
	}
	must(os.Chown(dir+"/host", uid, gid))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	j := &jumpHost{dir: dir, port: l.Addr().(*net.TCPAddr).Port, attr: syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, Pdeathsig: syscall.SIGKILL, Setpgid: true,
	}}
	l.Close()
	j.url = fmt.Sprintf("ssh://nobody@127.0.0.1:%d", j.port)
	must(os.WriteFile(dir+"/sshd_config", fmt.Appendf(nil, "ListenAddress 127.0.0.1:%d\nHostKey "+
		"%[2]s/host\nAuthorizedKeysFile %[2]s/id.pub\nStrictModes no\nUsePAM yes\n"+
		"PidFile none\nSshdSessionPath %[2]s/sshd-session\nSshdAuthPath %[2]s/sshd-auth\n", j.port, dir), 0o644))
	pub, err := os.ReadFile(dir + "/host.pub")
	must(err)
	must(os.WriteFile(dir+"/known", fmt.Appendf(nil, "[127.0.0.1]:%d %s", j.port, pub), 0o600))
	must(os.WriteFile(dir+"/ssh_config", fmt.Appendf(nil, "Host *\n  IdentityFile %s/id\n  IdentitiesOnly yes\n  "+
		"UserKnownHostsFile %[1]s/known\n"+
		"  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n", dir), 0o600))
	ssh, _ := exec.LookPath("ssh")
	must(os.Mkdir(dir+"/bin", 0o755))
	script(dir+"/bin/ssh", cmp.Or(ssh, strings.Join(loader("ssh", "usr/bin/ssh"), " ")), "-F", dir+"/ssh_config")
	j.argv = append(loader(dir+"/sshd", "usr/sbin/sshd"), "-D", "-e", "-f", dir+"/sshd_config")
	j.start(t)
	t.Cleanup(j.kill)
	return j
}

func (j *jumpHost) start(t *testing.T) {
	t.Helper()
	j.cmd = exec.Command(j.argv[0], j.argv[1:]...)
	attr := j.attr
	j.cmd.SysProcAttr = &attr
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", j.port))
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal("sshd does not answer")
		}
	}
}

// kill ends the server with its sessions, as when the machine goes down.
func (j *jumpHost) kill() {
	_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL)
	_ = j.cmd.Wait()
}

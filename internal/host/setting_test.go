package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSetting(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/sys/vm/swappiness": "60\n", "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
		"proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
	} {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := FS{Root: root}
	is := func(name, want string) {
		t.Helper()
		got, err := f.Setting(name)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	is("vm.swappiness", "60")
	is("kernel/mm/transparent_hugepage/enabled", "madvise")
	is("net.ipv4.tcp_rmem", "4096 131072 6291456")
	is("vm.nothing", "read the kernel's setting vm.nothing")
	is("../etc/passwd", `"../etc/passwd" is not a name`)
	is("vm..swappiness", `"vm..swappiness" is not a name`)
	is("/etc/passwd", `"/etc/passwd" is not a name`)
	if err := f.SetSetting("vm.swappiness", "10"); err != nil {
		t.Fatal(err)
	}
	is("vm.swappiness", "10")
	if err := f.SetSetting("vm.nothing", "1"); err == nil {
		t.Error("a setting that the kernel has not was made")
	}
	if _, err := (FS{}).Setting("vm.swappiness"); err != nil {
		t.Errorf("on this machine: %v", err)
	}
}

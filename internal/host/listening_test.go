package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/effort"
	"github.com/dyno-perf/dyno/test/servers"
)

// marks are those of the servers that these tests start and make up.
var marks = Marks{
	Programs: []string{"mysqld", "mariadbd", "mysqld-debug"}, Port: "3306", OtherPort: "33060",
	Socket: func(name string) (tells, never bool) {
		return strings.Contains(name, "mysql") && strings.HasSuffix(name, ".sock"), strings.Contains(name, "mysqlx")
	},
	Place: func(args []string) (socket, port string) {
		for _, a := range args {
			if v, ok := strings.CutPrefix(a, "--socket="); ok {
				socket = v
			}
			if v, ok := strings.CutPrefix(a, "--port="); ok {
				port = v
			}
		}
		return socket, port
	},
}

// ours trusts the accounts that servers of these tests run as.
func ours(uid int) bool {
	u, err := user.LookupId(strconv.Itoa(uid))
	return uid == 0 || uid == os.Geteuid() || err == nil && (u.Username == "mysql" || u.Username == "mariadb")
}

func TestKernelAddress(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		a, ok := kernelAddress(text)
		got := a.String()
		if !ok {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	f("0100007F:0CEA", "127.0.0.1:3306")
	f("00000000:0CEB", "0.0.0.0:3307")
	f("00000000000000000000000001000000:0CEA", "[::1]:3306")
	f("0000000000000000FFFF00000100007F:0CEA", "127.0.0.1:3306")
	f("00000000000000000000000000000000:0CEA", "[::]:3306")
	f("0100:0CEA", "error")
	f("0100007F", "error")
	f("0100007F:CEACEA", "error")
	f("xx00007F:0CEA", "error")
}

// accounts is what the kernel says of the accounts of a process: the real one, and that with whose
// rights it runs.
func accounts(real int, rights ...int) string {
	as := append(rights, real)[0]
	return fmt.Sprintf("Name:\tx\nUid:\t%d\t%d\t%d\t%d\n", real, as, as, as)
}

// TestListeningFromFiles reads a made-up machine as somebody sees it who may not look into the server's process.
func TestListeningFromFiles(t *testing.T) {
	root := t.TempDir()
	sock := filepath.Join(root, "mysqld.sock")
	odd := filepath.Join(root, "odd") // a name that tells nothing: the command line does
	for _, s := range []string{sock, odd, filepath.Join(root, "mysqlx.sock"), filepath.Join(root, "other.sock")} {
		l, err := net.Listen("unix", s)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	write := func(name, text string) {
		t.Helper()
		p := filepath.Join(root, "proc", name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, pid := range []string{"77", "78", "79"} {
		write(pid+"/status", accounts(os.Getuid()))
	}
	write("77/cmdline", "/usr/sbin/mysqld\x00--socket="+odd+"\x00--port=3399\x00")
	write("78/cmdline", "nginx\x00--port=80\x00")
	inode := 12345
	line := func(flags, path string) string {
		inode++
		return fmt.Sprintf("0000: 00000002 00000000 %s 0001 01 %d %s\n", flags, inode, path)
	}
	write("net/unix", "Num RefCount Protocol Flags Type St Inode Path\n"+
		line("00010000", sock)+line("00010000", odd)+line("00010000", root+"/mysqlx.sock")+
		line("00010000", root+"/other.sock")+
		line("00000000", root+"/mysql-connected.sock")+line("00010000", root+"/mysql-gone.sock")+
		line("00010000", "@mysql.sock")+"short line\n")
	tcp := func(local, state string, uid ...int) string {
		return "  0: " + local + " 00000000:0000 " + state + " 00000000:00000000 00:00000000 00000000   " +
			fmt.Sprint(append(uid, os.Getuid())[0]) + "        0 4711 1\n"
	}
	// Port 3400 is somebody else's than the process's that names it.
	write("79/cmdline", "mysqld\x00--port=3400\x00")
	write("net/tcp", "sl local\n"+tcp("0100007F:0D48", "0A", os.Getuid()+1)+tcp("0100007F:0CEA", "0A")+
		tcp("00000000:0D47", "0A")+tcp("0100007F:0050", "0A")+tcp("0100007F:0CEA", "01")+tcp("bad:0CEA", "0A"))
	write("net/tcp6", "sl local\n"+tcp("00000000000000000000000000000000:0D47", "0A")+
		tcp("00000000000000000000000000000000:0CEA", "0A", os.Getuid()+1))
	f := func(want []string, also ...string) {
		t.Helper()
		var got []string
		for _, l := range Listening(t.Context(), root, marks, ours, also...) {
			what := l.Network + " " + l.Address
			if l.UID == os.Getuid()+1 {
				what += " of another"
			}
			got = append(got, what)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f([]string{
		"unix " + sock, "unix " + odd, "tcp 127.0.0.1:3306", "tcp 127.0.0.1:3399",
		"tcp 127.0.0.1:3306 of another",
	})
	f([]string{
		"unix " + sock, "unix " + odd, "unix " + root + "/other.sock", "tcp 127.0.0.1:3306",
		"tcp 127.0.0.1:3399", "tcp 127.0.0.1:80", "tcp 127.0.0.1:3306 of another",
	},
		root+"/other.sock", "127.0.0.1:80", "/nowhere", "localhost:3307")
}

// TestListeningBelieves: whose a socket is the kernel tells; what a process says of itself counts where that is not
// known.
func TestListeningBelieves(t *testing.T) {
	root := t.TempDir()
	sock := filepath.Join(root, "mysqld.sock")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f := func(want int, shown bool) {
		t.Helper()
		for _, pid := range []string{"77", "99"} {
			dir := filepath.Join(root, "proc", pid)
			err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir+"/fd", 0o700), os.WriteFile(dir+"/cmdline",
				[]byte("mysqld\x00"), 0o600),
				os.WriteFile(dir+"/status", []byte(accounts(os.Getuid())), 0o600))
			if pid == "99" { // it only says so
				err = errors.Join(err, os.WriteFile(dir+"/cmdline", []byte("mysqld\x00--socket="+sock+"\x00"), 0o600))
			} else if shown {
				err = errors.Join(err, os.Symlink("socket:[12345]", dir+"/fd/3"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		line := "Num RefCount Protocol Flags Type St Inode Path\n0000: 00000002 00000000 00010000 0001 01 12345 " +
			sock + "\n"
		if err := errors.Join(os.MkdirAll(root+"/proc/net", 0o700), os.WriteFile(root+"/proc/net/unix",
			[]byte(line), 0o600)); err != nil {
			t.Fatal(err)
		}
		if all := Listening(t.Context(), root, marks, ours); len(all) != 1 || all[0].PID != want {
			t.Errorf("got %+v, want process %d", all, want)
		}
	}
	f(77, true)
	f(99, false)
}

// TestAPathOfTwoLinesIsNobodysSocket: the kernel writes a line break in a path as it is, and what follows looks like
// another's socket.
func TestAPathOfTwoLinesIsNobodysSocket(t *testing.T) {
	root := t.TempDir()
	lines := "0000: 00000002 00000000 00010000 0001 01 12345 /run/mysqld/mysqld.sock\n" +
		"0000: 00000002 00000000 00010000 0001 01 12346 /run/other/mysqld.sock\n" +
		"0000: 00000002 00000000 00010000 0001 01 54321 /tmp/x\n" +
		"0000: 00000002 00000000 00010000 0001 01 12345 /tmp/mysqld.sock\n"
	if err := errors.Join(os.MkdirAll(root+"/proc/net", 0o700), os.WriteFile(root+"/proc/net/unix",
		[]byte(lines), 0o600)); err != nil {
		t.Fatal(err)
	}
	got := unixListeners(root)
	if want := []unixListener{
		{"/run/mysqld/mysqld.sock", ""},
		{"/run/other/mysqld.sock", "12346"},
		{"/tmp/x", "54321"},
		{"/tmp/mysqld.sock", ""},
	}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestOneSocketUnderManyNames: whoever has one of root's listed under other names leaves no server out.
func TestOneSocketUnderManyNames(t *testing.T) {
	root := t.TempDir()
	list := listenAt(t, root, 1)
	for i := range 50 {
		list += fmt.Sprintf("0000: 00000002 00000000 00010000 0001 01 %d %s/%smysqld0.sock\n", 30_000+i, root,
			strings.Repeat("./", i+1))
	}
	list += fmt.Sprintf("0000: 00000002 00000000 00010000 0001 01 4711 %s/proc/mysqld.sock\n", root) // is no socket
	err := errors.Join(os.MkdirAll(root+"/proc/net", 0o700), os.WriteFile(root+"/proc/net/unix", []byte(list), 0o600),
		os.WriteFile(root+"/proc/mysqld.sock", nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if all := Listening(t.Context(), root, marks, ours); len(all) != 1 || all[0].Address != root+"/mysqld0.sock" {
		t.Errorf("%d sockets, want one: %.500v", len(all), all)
	}
}

// TestCrowdsOfListeners: another account's listeners cost time in proportion to how many they are,
// its sockets and open files have a bound.
func TestCrowdsOfListeners(t *testing.T) {
	effort.Linear(t, "listeners", 1000, func(n int) func() {
		root := t.TempDir()
		var b strings.Builder
		b.WriteString("sl local\n")
		for i := range n {
			fmt.Fprintf(&b, "  0: %02X%02X017F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   65534"+
				"        0 4711 1\n", i%250+1, i/250)
		}
		err := errors.Join(os.MkdirAll(root+"/proc/net", 0o700),
			os.WriteFile(root+"/proc/net/tcp", []byte(b.String()), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if all := Listening(t.Context(), root, marks, ours); len(all) != n {
				t.Errorf("%d listeners, want %d", len(all), n)
			}
		}
	})

	asked := 0
	root := t.TempDir()
	list := listenAt(t, root, mostSockets+100)
	if err := errors.Join(os.MkdirAll(root+"/proc/net", 0o700), os.WriteFile(root+"/proc/net/unix",
		[]byte(list), 0o600)); err != nil {
		t.Fatal(err)
	}
	all := Listening(t.Context(), root, marks, func(int) bool { asked++; return false })
	if len(all) != mostSockets || asked != 1 {
		t.Errorf("%d sockets, %d questions about their account", len(all), asked)
	}

	root = t.TempDir()
	process(t, root, "7", accounts(0), "", "", 20)
	if err := os.Symlink("socket:[54321]", root+"/proc/7/fd/20"); err != nil {
		t.Fatal(err)
	}
	listens := map[string]bool{"12345": true}
	for _, most := range []int{7, 100, 0, -1} {
		inodes, read, hidden := openSockets(t.Context(), root+"/proc/7", most, listens)
		if want := max(0, min(most, 21)); read != want || len(inodes) > min(want, 20) ||
			len(inodes) < want-1 || hidden {
			t.Errorf("%d of %d files read, %d sockets, hidden %t", read, most, len(inodes), hidden)
		}
	}
}

// listenAt listens at so many sockets in a directory, and returns the lines that a kernel would write of them.
func listenAt(t *testing.T, dir string, n int) (lines string) {
	t.Helper()
	for i := range n {
		path := fmt.Sprintf("%s/mysqld%d.sock", dir, i)
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		lines += fmt.Sprintf("0000: 00000002 00000000 00010000 0001 01 %d %s\n", 20_000+i, path)
	}
	return lines
}

// process makes a process that has the socket 12345 open as so many files.
func process(t *testing.T, root, pid, status, exe, words string, files int) {
	t.Helper()
	dir := filepath.Join(root, "proc", pid)
	comm, _, _ := strings.Cut(words, " ")
	err := errors.Join(os.MkdirAll(dir+"/fd", 0o755), os.WriteFile(dir+"/status", []byte(status), 0o644),
		os.WriteFile(dir+"/comm", []byte(comm+"\n"), 0o644),
		os.WriteFile(dir+"/cmdline", []byte(strings.ReplaceAll(words, " ", "\x00")), 0o644))
	if exe != "" {
		err = errors.Join(err, os.Symlink(exe, dir+"/exe"))
	}
	for i := range files {
		err = errors.Join(err, os.Symlink("socket:[12345]", filepath.Join(dir, "fd", fmt.Sprint(i))))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCrowdsOfProcesses: what strangers' processes have open is looked through last and has a bound
// for all accounts together, a server's has one too, and the search ends when it is told to.
func TestCrowdsOfProcesses(t *testing.T) {
	defer func(server, strangers int) {
		filesOfServer, filesOfStrangers = server,
			strangers
	}(filesOfServer, filesOfStrangers)
	filesOfServer, filesOfStrangers = 15, 30
	const me, eve = 27, 65534
	root := t.TempDir()
	for i := range 5 { // of as many accounts
		process(t, root, fmt.Sprint(100+i), accounts(eve-i), "", "mysqld", 20)
	}
	process(t, root, "200", accounts(eve, me), "", "mysqld", 20)
	process(t, root, "201", accounts(me), "/usr/bin/sudo", "mysqld", 20)
	process(t, root, "300", accounts(me), "/usr/sbin/mysqld (deleted)", "mysqld", 20)
	process(t, root, "301", accounts(me), "/lib64/ld-linux-x86-64.so.2", "ld-linux-x86-64.so.2 mariadbd", 10)
	look := func(ctx context.Context) (got []string) {
		for _, p := range ServerProcesses(ctx, root, marks, map[string]bool{"12345": true},
			func(uid int) bool { return uid == me }) {
			got = append(got, fmt.Sprintf("%d of %d: %d", p.pid, p.UID, len(p.inodes)))
		}
		return got
	}
	want := []string{
		"300 of 27: 15", "301 of 27: 10", "100 of 65534: 20", "101 of 65533: 10", "102 of 65532: 0",
		"103 of 65531: 0", "104 of 65530: 0",
	}
	if got := look(t.Context()); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if got := look(over); len(got) != 0 {
		t.Errorf("after its end the search looked at %q", got)
	}
}

// TestStrangersHoldNoSearchUp: a process can keep its command line from being read for ever.
func TestStrangersHoldNoSearchUp(t *testing.T) {
	root := t.TempDir()
	process(t, root, "77", accounts(os.Getuid()+1), "", "mysqld", 0)
	process(t, root, "78", accounts(os.Getuid()+1, os.Getuid()), "", "mysqld", 0)
	process(t, root, "79", accounts(os.Getuid()), "/usr/bin/sudo", "mysqld", 0)
	done := make(chan bool)
	pipes := []string{root + "/proc/77/cmdline", root + "/proc/78/cmdline", root + "/proc/79/cmdline"}
	for _, pipe := range pipes {
		if err := errors.Join(os.Remove(pipe), syscall.Mkfifo(pipe, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		defer close(done)
		Listening(t.Context(), root, marks, ours)
	}()
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
		for _, pipe := range pipes {
			if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // somebody reads
				t.Errorf("%s is waited for", pipe)
				f.Close()
			}
		}
	}
}

// TestStrangersNameNoOthersSockets: what another account's process says of itself, or has open,
// makes no server of a socket that is not its own, and its own sockets are few.
func TestStrangersNameNoOthersSockets(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make what belongs to others")
	}
	const eve = 65534
	root := t.TempDir()
	named, held := filepath.Join(root, "bus"), filepath.Join(root, "udev")
	for _, path := range []string{named, held} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	line := "0000: 00000002 00000000 00010000 0001 01 "
	words := "mysqld --socket=" + named
	process(t, root, "77", accounts(eve), "", words, 0)
	process(t, root, "78", accounts(eve, 0), "", words, 0) // as su is
	process(t, root, "79", accounts(0), "/usr/bin/sudo", words, 0)
	list := line + "11 " + named + "\n" + line + "12 " + held + "\n" + listenAt(t, root, mostSockets+1)
	var err error
	eves, _ := filepath.Glob(root + "/*.sock")
	for _, path := range eves {
		err = errors.Join(err, os.Chown(path, eve, eve))
	}
	err = errors.Join(err, os.Mkdir(root+"/proc/net", 0o755), os.WriteFile(root+"/proc/net/unix", []byte(list), 0o644))
	for _, pid := range []string{"77", "78", "79"} {
		err = errors.Join(err, os.Symlink("socket:[12]", root+"/proc/"+pid+"/fd/3"))
	}
	if err != nil {
		t.Fatal(err)
	}
	all := Listening(t.Context(), root, marks, ours)
	for _, l := range all {
		if l.UID != eve {
			t.Errorf("%s is no server's, not that of process %d", l.Address, l.PID)
		}
	}
	if len(all) != mostSockets {
		t.Errorf("%d sockets, want %d", len(all), mostSockets)
	}
}

// TestListeningFindsServers holds what the kernel tells to a server that is really there, whose socket has a name that
// tells nothing.
func TestListeningFindsServers(t *testing.T) {
	s := servers.Start(t, "mariadb")
	var sock, tcp bool
	for _, l := range Listening(t.Context(), "", marks, ours) {
		if l.Network == "unix" && l.Address == s.Socket {
			sock = l.PID == s.PID && l.UID == os.Geteuid()
		}
		if _, p, _ := net.SplitHostPort(l.Address); l.Network == "tcp" && l.PID == s.PID {
			tcp = p != ""
		}
	}
	if !sock || !tcp {
		t.Errorf("socket found: %v, port found: %v", sock, tcp)
	}
}

// TestRedirectable: a path leads where root and servers' accounts have it lead, or it leads nowhere for a stored
// password.
func TestRedirectable(t *testing.T) {
	const nobody = 65534
	trusted := func(uid int) bool { return uid == os.Getuid() || uid == 0 }
	top := t.TempDir()
	mkdir := func(name string, mode os.FileMode, uid int) string {
		t.Helper()
		path := filepath.Join(top, name)
		if err := errors.Join(os.Mkdir(path, 0o755), os.Chmod(path, mode), os.Chown(path, uid, -1)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(to, path string, uid int) string {
		t.Helper()
		if err := errors.Join(os.Symlink(to, path), os.Lchown(path, uid, -1)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	safe, foreign, open, sticky := mkdir("safe", 0o755, 0), mkdir("foreign", 0o755, nobody), mkdir("open", 0o777, 0),
		mkdir("sticky", 0o777|os.ModeSticky, 0)
	f := func(path string, want bool) {
		t.Helper()
		if got := Redirectable(path, trusted); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	f(safe+"/none", false)
	f(safe+"/none/deeper", true)
	f(foreign+"/none", true)
	f(open+"/none", true)
	f(sticky+"/none", false)
	f(link(safe, safe+"/in", 0)+"/none", false)
	f(link(foreign, safe+"/out", 0)+"/none", true)
	f(link(safe, foreign+"/back", nobody)+"/none", true)
	f(link(safe, sticky+"/link", nobody)+"/none", true)
	f(link("../foreign/back", safe+"/round", 0)+"/none", true)
	f(link("self", safe+"/self", 0)+"/none", true)
	f("relative", true)
}

package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/store/trials"
)

// TestNothingIsWrittenThroughOthersLinks: every command that writes to a path of the user's refuses a link that another
// user put there.
func TestNothingIsWrittenThroughOthersLinks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make what belongs to others")
	}
	const eve = 65534
	home, own, shared := t.TempDir(), t.TempDir(), t.TempDir()
	d, err := trials.Create(filepath.Join(home, "experiments", "x-1"), trials.Header{
		ID: "x-1", Started: time.Now(),
		Plan: "dyno_plan: 1\nname: mine\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	log, made, link := filepath.Join(own, "slow.log"), filepath.Join(own, "made"), filepath.Join(shared, "link")
	if err := errors.Join(d.Close(), os.Chmod(shared, 0o777|os.ModeSticky), os.WriteFile(log, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"diagnose unix:///nowhere.sock --save " + link,
		"advise index unix:///nowhere.sock --save " + link,
		"demo --save-snapshot " + link,
		"load exec run --time=1 --threads=1 --command=true --hdr-log=" + link,
		"digest " + log + " --follow --state " + link,
		"digest " + log + " --out " + link,
		"compare --bundle-of x-1 --bundle " + link,
	} {
		for _, to := range []string{log, made} {
			if err := errors.Join(os.RemoveAll(link), os.RemoveAll(made), os.Symlink(to, link),
				os.Lchown(link, eve, eve), os.Truncate(log, 0)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // for what is not refused
			var out, said bytes.Buffer
			code := Run(ctx, strings.Fields(command), Streams{In: strings.NewReader(""), Out: &out, Err: &said},
				func(k string) string {
					return map[string]string{"DYNO_HOME": home, "HOME": home}[k]
				}, "test")
			cancel()
			if code == 0 || !strings.Contains(said.String(), "another user of this machine") {
				t.Errorf("%s: exit %d: %s", command, code, said.String())
			}
			if _, err := os.Lstat(made); err == nil {
				t.Errorf("%s made a file where the link leads", command)
			}
			if b, err := os.ReadFile(log); err != nil || len(b) > 0 {
				t.Errorf("%s wrote %q to where the link leads: %v", command, b, err)
			}
		}
	}
}

// alone fails when a file has another text than want, or when anything lies beside it.
func alone(t *testing.T, path, want string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != want {
		t.Errorf("%s holds %q, want %q: %v", filepath.Base(path), b, want, err)
	}
	all, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(all) != 1 {
		t.Errorf("beside %s lies something: %v: %v", filepath.Base(path), all, err)
	}
}

// TestBundleStays: an experiment that is not there, or that cannot be read, costs nobody the bundle that was.
func TestBundleStays(t *testing.T) {
	home := t.TempDir()
	d, err := trials.Create(filepath.Join(home, "experiments", "x-1"), trials.Header{
		ID: "x-1", Started: time.Now(),
		Plan: "dyno_plan: 1\nname: mine\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "good.tar.gz")
	if err := os.WriteFile(path, []byte("a good one"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(id string) (int, string) {
		var out, said bytes.Buffer
		code := Run(t.Context(), []string{"compare", "--bundle-of", id, "--bundle", path},
			Streams{In: strings.NewReader(""), Out: &out, Err: &said}, func(k string) string {
				return map[string]string{"DYNO_HOME": home, "HOME": home}[k]
			}, "test")
		return code, said.String()
	}
	if code, said := run("x-typo"); code != 1 || !strings.Contains(said, "no experiment has the id x-typo") {
		t.Errorf("exit %d: %s", code, said)
	}
	alone(t, path, "a good one")
	if code, said := run("x-1"); code != 0 || !strings.Contains(said, "Bundle: "+path) {
		t.Errorf("exit %d: %s", code, said)
	}
	b, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		t.Errorf("no bundle: %.20q %v", b, err)
	}
	alone(t, path, string(b))
	if err := os.WriteFile(filepath.Join(home, "experiments", "x-1", "experiment.json"),
		[]byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := run("x-1"); code == 0 {
		t.Errorf("a damaged experiment was written: %s", said)
	}
	alone(t, path, string(b))
}

// TestListsNameTheZone: a list of times says of which zone they are; some are of UTC, some of this machine.
func TestListsNameTheZone(t *testing.T) {
	home := t.TempDir()
	f := func(in, command string) string {
		t.Helper()
		var out, said bytes.Buffer
		if code := Run(t.Context(), strings.Fields(command), Streams{In: strings.NewReader(in), Out: &out, Err: &said},
			func(k string) string {
				return map[string]string{"DYNO_HOME": home, "HOME": home}[k]
			}, "test"); code != 0 {
			t.Fatalf("%s: exit %d: %s", command, code, said.String())
		}
		return out.String()
	}
	f("correct-horse-battery-1\n", "user add anna")
	if text := f("", "user audit"); !strings.HasPrefix(text, time.Now().Format("TIME (MST)")) {
		t.Errorf("%s", text)
	}
}

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/platform"
)

// apt is a private apt: own state with no package installed, own cache, own configuration and one source of its own. It
// shares nothing with the system's but the mirror, the keys, the proxy and the login for the mirror, and runs as any
// user.
type apt struct {
	dir string
}

// assumed are packages that programs ask for but that no server needs to run: the private apt counts them as installed.
var assumed = []string{
	"perl", "perl-base", "debconf", "dpkg", "tar", "adduser", "libdbi-perl", "libconfig-inifiles-perl",
	"init-system-helpers", "lsb-base",
	"passwd", "procps", "iproute2", "psmisc", "lsof", "rsync", "socat", "gawk", "galera-4", "mariadb-client",
}

// newApt writes the configuration of a private apt with sources (deb822) in dir. What an earlier one has downloaded
// there is used again.
func newApt(ctx context.Context, dir, sources string) (apt, error) {
	a := apt{dir}
	if strings.ContainsAny(dir, `"\;{}`) {
		return a, hint(fmt.Errorf("%s: apt cannot work in a directory with such a name", dir),
			"set DYNO_HOME to a plainer path")
	}
	for _, d := range []string{
		"state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d",
		"etc/sources.list.d", "log",
	} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return a, err
		}
	}
	arch, err := exec.CommandContext(ctx, "dpkg", "--print-architecture").Output()
	if err != nil {
		return a, fmt.Errorf("ask dpkg for the architecture: %w", err)
	}
	native := strings.TrimSpace(string(arch))
	var status, conf strings.Builder
	for _, p := range assumed {
		fmt.Fprintf(&status, "Package: %s\nStatus: install ok installed\nArchitecture: %s\nMulti-Arch: "+
			"allowed\nVersion: 99:1\nMaintainer: none\nDescription: not needed\n\n", p, native)
	}
	fmt.Fprintf(&conf, `Dir "/";
Dir::State "%[1]s/state";
Dir::State::status "%[1]s/state/status";
Dir::Cache "%[1]s/cache";
Dir::Log "%[1]s/log";
Dir::Etc "%[1]s/etc";
Dir::Etc::main "apt.conf";
Dir::Etc::parts "apt.conf.d";
Dir::Etc::sourcelist "sources.list";
Dir::Etc::sourceparts "sources.list.d";
Dir::Etc::preferences "preferences";
Dir::Etc::preferencesparts "preferences.d";
Dir::Etc::trusted "/etc/apt/trusted.gpg";
Dir::Etc::trustedparts "/etc/apt/trusted.gpg.d";
Dir::Etc::netrc "/etc/apt/auth.conf";
Dir::Etc::netrcparts "/etc/apt/auth.conf.d";
APT::Architecture "%[2]s";
APT::Architectures { "%[2]s"; };
APT::Install-Recommends "false";
APT::Update::Error-Mode "any";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
Acquire::GzipIndexes "true";
Acquire::Retries "3";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
`, dir, native)
	dump, err := exec.CommandContext(ctx, "apt-config", "dump").Output()
	if err != nil {
		return a, fmt.Errorf("ask apt for its configuration: %w", err)
	}
	conf.WriteString(carried(string(dump)))
	for name, text := range map[string]string{
		"state/status": status.String(), "etc/sources.list": "",
		"etc/preferences": "", "etc/private.conf": conf.String(), "etc/sources.list.d/suite.sources": sources,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return a, err
		}
	}
	return a, nil
}

// carriedNames are the settings of the system's apt without which its mirror may not be reached, or not be believed to
// be fresh.
var carriedNames = lazyregexp.New(
	`^Acquire::(http|https)::([^ ]+::)?(Proxy|Proxy-Auto-Detect|ProxyAutoDetect|CaInfo|CaPath|SslCert|SslKey)(::\S+)? |^Acquire::(http|https)::Proxy::\S+ |^Acquire::(Check-Valid-Until|Check-Date) `)

// carried picks from a dump of the system's apt configuration what the private one takes over. Hooks and whatever would
// loosen the check of signatures stay behind.
func carried(dump string) string {
	var b strings.Builder
	for line := range strings.Lines(dump) {
		if carriedNames.MatchString(line) && strings.HasSuffix(strings.TrimSpace(line), `";`) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// run runs apt-get; its error, ErrFetch, names what apt could not get.
func (a apt) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Dir = a.dir
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=" + a.dir, "APT_CONFIG=" +
		filepath.Join(a.dir, "etc/private.conf"), "DEBIAN_FRONTEND=noninteractive"}
	for _, k := range []string{
		"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
		"all_proxy", "ALL_PROXY",
	} {
		if v, ok := os.LookupEnv(k); ok {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
	}
	cmd.SysProcAttr = platform.NewGroup() // apt's methods end with it
	cmd.Cancel = func() error { return platform.SignalGroup(cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", aptError(err, errs.String())
	}
	return out.String(), nil
}

var fetchLine = lazyregexp.New(`(?m)^[EW]: (Failed to fetch .*|The repository .*|GPG error: .*|.*NO_PUBKEY.*)$`)

// aptError makes an error of what apt-get printed: what it failed to fetch, else all its errors.
func aptError(err error, stderr string) error {
	var lines []string
	for _, m := range fetchLine.FindAllStringSubmatch(stderr, 4) {
		lines = append(lines, strings.TrimSpace(m[1]))
	}
	if len(lines) > 0 {
		err := fmt.Errorf("%w: %s", ErrFetch, strings.Join(lines, "; "))
		if keyLine.MatchString(stderr) {
			return hint(err, "the mirror's signature cannot be checked with this machine's keys, so nothing is taken "+
				"from it: bring the package debian-archive-keyring up to date")
		}
		return hint(err, "check that this machine reaches its Debian mirror (proxy, name service) and try again; "+
			"without a mirror, unpack the server's archive and name it with --server-dir")
	}
	for line := range strings.Lines(stderr) {
		if s, ok := strings.CutPrefix(line, "E: "); ok {
			lines = append(lines, strings.TrimSpace(s))
		}
	}
	if len(lines) == 0 {
		return fmt.Errorf("%w: apt-get: %w: %s", ErrFetch, err, firstLine(stderr))
	}
	return fmt.Errorf("%w: %s", ErrFetch, strings.Join(lines, "; "))
}

var keyLine = lazyregexp.New(`NO_PUBKEY|GPG error|is not signed`)

// deb is one package file to download.
type deb struct {
	name  string // of the file
	bytes int64
}

var uriLine = lazyregexp.New(`(?m)^'([^']+)' (\S+) (\d+) ?(\S*)$`)

// plan returns the files that make up packages with all they need.
func (a apt) plan(ctx context.Context, packages ...string) ([]deb, error) {
	out, err := a.run(ctx, append([]string{"install", "-qq", "-y", "--print-uris"}, packages...)...)
	if err != nil {
		return nil, err
	}
	var debs []deb
	for _, m := range uriLine.FindAllStringSubmatch(out, -1) {
		n, err := strconv.ParseInt(m[3], 10, 64)
		if err != nil {
			return nil, err
		}
		debs = append(debs, deb{m[2], n})
	}
	return debs, nil
}

// held returns the bytes of package files that are there, complete or not.
func (a apt) held() int64 {
	var n int64
	for _, d := range []string{"cache/archives", "cache/archives/partial"} {
		entries, err := os.ReadDir(filepath.Join(a.dir, d))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() {
				n += fi.Size()
			}
		}
	}
	return n
}

// unpack unpacks the files into tree.
func (a apt) unpack(ctx context.Context, debs []deb, tree string, step func(deb)) error {
	for _, d := range debs {
		path := filepath.Join(a.dir, "cache/archives", d.name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s is not among what apt downloaded", ErrFetch, d.name)
		}
		out, err := exec.CommandContext(ctx, "dpkg-deb", "--extract", path, tree).CombinedOutput()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w: %s", d.name, err, firstLine(string(out)))
		}
		step(d)
	}
	return nil
}

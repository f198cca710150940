package sandbox

import (
	"errors"
	"strings"
	"testing"
)

func TestCarried(t *testing.T) {
	got := carried(`APT "";
APT::Update::Post-Invoke:: "rm -f /var/cache/apt/archives/*.deb";
Acquire::http::Proxy "http://proxy:3128";
Acquire::http::Proxy::deb.example "DIRECT";
Acquire::https::deb.example::CaInfo "/etc/ssl/x.pem";
Acquire::https::Verify-Peer "false";
Acquire::AllowInsecureRepositories "true";
Acquire::Check-Valid-Until "false";
Acquire::GzipIndexes "true";
Dir::State "/var/lib/apt";
`)
	for line, want := range map[string]bool{
		"Proxy \"http://proxy:3128\"": true, "Proxy::deb.example": true, "CaInfo": true, "Check-Valid-Until": true,
		"Post-Invoke": false, "Verify-Peer": false, "AllowInsecure": false, "Dir::": false,
	} {
		if strings.Contains(got, line) != want {
			t.Errorf("%s: carried over is not %v\n%s", line, want, got)
		}
	}
}

func TestAptError(t *testing.T) {
	f := func(stderr, want string) {
		t.Helper()
		err := aptError(errors.New("exit status 100"), stderr)
		if !errors.Is(err, ErrFetch) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", stderr, err)
		}
	}
	f("W: Failed to fetch http://x/debian/dists/sid/InRelease  Could not connect to 127.0.0.1:1\nE: Some index files "+
		"failed to download.", "http://x/debian/dists/sid/InRelease")
	f("E: The repository 'http://x/debian sid Release' does not have a Release file.\n", "does not have a Release file")
	f("W: GPG error: http://x sid InRelease: The following signatures couldn't be verified because the public key is "+
		"not available: NO_PUBKEY 1\n", "NO_PUBKEY")
	f("E: Unable to locate package mysql-server-core\n", "Unable to locate package")
	f("segfault\n", "segfault")
}

func TestDebVersion(t *testing.T) {
	f := func(file, pkg, want string) {
		t.Helper()
		if got, ok := debVersion(file, pkg); got != want || ok != (want != "") {
			t.Errorf("%s: %q %v", file, got, ok)
		}
	}
	f("mysql-server-core_9.7.4-2_amd64.deb", "mysql-server-core", "9.7.4")
	f("mariadb-server-core_1%3a10.11.19-0+deb12u1_amd64.deb", "mariadb-server-core", "10.11.19")
	f("mysql-client-core_9.7.4-2_amd64.deb", "mysql-server-core", "")
	f("libc6_2.43-7_amd64.deb", "libc6", "")
}

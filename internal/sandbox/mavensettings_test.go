package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMirrorsCentral(t *testing.T) {
	f := func(list string, want bool) {
		t.Helper()
		if mirrorsCentral(list) != want {
			t.Errorf("%q: not %v", list, want)
		}
	}
	f("central", true)
	f("*", true)
	f("external:*", true)
	f("other, central", true)
	f("*,!central", false)
	f("!central,*", false)
	f("other", false)
	f("external:http:*", false)
	f("", false)
}

func TestMavenResolve(t *testing.T) {
	f := func(text, url, login string, bad bool) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "settings.xml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := mavenRepository{settings: []string{"/nonexistent/settings.xml", file}, url: mavenCentral}.resolve()
		if bad {
			if !errors.Is(err, ErrFetch) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v", text, err)
			}
			return
		}
		if err != nil || m.url != url || m.header.Get("Authorization") != login {
			t.Errorf("%s: %s %v %v", text, m.url, m.header, err)
		}
	}
	const head = `<?xml version="1.0"?><settings xmlns="http://maven.apache.org/SETTINGS/1.2.0">`
	f(head+`</settings>`, mavenCentral, "", false)
	f(head+`<!-- <mirrors><mirror><mirrorOf>*</mirrorOf><url>http://x</url></mirror></mirrors> --></settings>`,
		mavenCentral, "", false)
	f(head+`<mirrors><mirror><id>no</id><mirrorOf>other</mirrorOf><url>http://no</url></mirror>
		<mirror><id>yes</id><mirrorOf>central</mirrorOf><url> https://corp/maven/ </url></mirror></mirrors></settings>`,
		"https://corp/maven", "", false)
	f(head+
		`<servers><server><id>central</id><username>u</username><password>p</password></server></servers></settings>`,
		mavenCentral, "Basic dTpw", false)
	f(head+
		`<servers><server><id>central</id><username>u</username><password>{encrypted}</password></server></servers></settings>`, mavenCentral, "", false)
	f(head+
		`<mirrors><mirror><id>b</id><mirrorOf>*</mirrorOf><url>http://0.0.0.0/</url><blocked>true</blocked></mirror></mirrors></settings>`, "", "", true)
	f(head+`<mirrors><mirror><id>b</id><mirrorOf>*</mirrorOf><url>file:///hush</url></mirror></mirrors></settings>`, "",
		"", true)
	f(head+`<mirrors>`, "", "", true)
}

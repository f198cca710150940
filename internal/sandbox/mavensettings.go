package sandbox

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// mavenRepository is where artefacts come from.
type mavenRepository struct {
	settings []string // files, the user's before the machine's
	url      string
	header   http.Header
}

const mavenCentral = "https://repo1.maven.org/maven2"

// central returns Maven Central, or what stands for it in the settings of this user's or this machine's Maven once
// resolved.
func (b *Builds) central() mavenRepository {
	var files []string
	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".m2", "settings.xml"))
	}
	if home := os.Getenv("MAVEN_HOME"); home != "" {
		files = append(files, filepath.Join(home, "conf", "settings.xml"))
	}
	return mavenRepository{settings: append(files, "/etc/maven/settings.xml"), url: mavenCentral}
}

// mavenSettings are the parts of settings.xml that matter here.
type mavenSettings struct {
	Mirrors []mavenMirror `xml:"mirrors>mirror"`
	Servers []mavenServer `xml:"servers>server"`
}

type mavenMirror struct {
	ID       string `xml:"id"`
	MirrorOf string `xml:"mirrorOf"`
	URL      string `xml:"url"`
	Blocked  bool   `xml:"blocked"`
}

type mavenServer struct {
	ID       string `xml:"id"`
	Username string `xml:"username"`
	Password string `xml:"password"`
}

// resolve applies the settings: the first mirror of central holds, with the login of the server that has its id.
func (m mavenRepository) resolve() (mavenRepository, error) {
	var all mavenSettings
	for _, file := range m.settings {
		b, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return m, err
		}
		var s mavenSettings
		if err := xml.Unmarshal(b, &s); err != nil {
			return m, hint(fmt.Errorf("%w: read %s: %w", ErrFetch, file, err), "correct that file: it says where to "+
				"find Maven Central")
		}
		all.Mirrors = append(all.Mirrors, s.Mirrors...)
		all.Servers = append(all.Servers, s.Servers...)
	}
	id := "central"
	for _, r := range all.Mirrors {
		if !mirrorsCentral(r.MirrorOf) {
			continue
		}
		u, err := url.Parse(strings.TrimSpace(expandMaven(r.URL)))
		switch {
		case r.Blocked:
			return m, fmt.Errorf("%w: the settings of Maven block Maven Central (mirror %s)", ErrFetch, r.ID)
		case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
			return m, fmt.Errorf("%w: the settings of Maven name a mirror %s whose address cannot be used", ErrFetch,
				r.ID)
		}
		id, m.url = strings.TrimSpace(r.ID), strings.TrimRight(u.String(), "/")
		break
	}
	for _, s := range all.Servers {
		if strings.TrimSpace(s.ID) != id {
			continue
		}
		login := expandMaven(s.Username) + ":" + expandMaven(s.Password)
		if s.Username != "" && !strings.HasPrefix(s.Password, "{") { // an encrypted one only Maven can read
			m.header = http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(login))}}
		}
		break
	}
	return m, nil
}

// mirrorsCentral reports whether a mirror with this mirrorOf stands for the repository central: "*", "central,other",
// "*,!central"…
func mirrorsCentral(list string) bool {
	yes := false
	for p := range strings.SplitSeq(list, ",") {
		switch strings.TrimSpace(p) {
		case "!central":
			return false
		case "central", "*", "external:*":
			yes = true
		}
	}
	return yes
}

var mavenVariable = lazyregexp.New(`\$\{env\.([^}]+)\}`)

// expandMaven puts the environment's values where settings name them: ${env.NAME}.
func expandMaven(s string) string {
	return mavenVariable.ReplaceAllStringFunc(s, func(v string) string {
		return os.Getenv(mavenVariable.FindStringSubmatch(v)[1])
	})
}

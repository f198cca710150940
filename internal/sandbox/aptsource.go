package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// aptSource is one source of packages that the system's apt uses.
type aptSource struct {
	uris       []string
	suites     []string
	components []string
	// signedBy is the value of Signed-By as it stands: paths, fingerprints, or a key block of several lines.
	signedBy string
}

// archive returns the source that Debian's own archive comes from: its mirror and keyring serve every suite of it.
func archive(sources []aptSource, codename string) (aptSource, bool) {
	best, top := aptSource{}, 0
	for _, s := range sources {
		if !contains(s.components, "main") || len(s.uris) == 0 || strings.Contains(s.uris[0], "security") {
			continue
		}
		score := 0
		if strings.Contains(s.signedBy, "debian-archive-keyring") {
			score += 4
		}
		if u := strings.TrimRight(s.uris[0], "/"); strings.HasSuffix(u, "/debian") {
			score += 4
		}
		if contains(s.suites, codename) {
			score += 2
		}
		if score >= 4 && score > top {
			best, top = s, score
		}
	}
	return best, top > 0
}

// security returns the source of Debian's security updates.
func security(sources []aptSource) (aptSource, bool) {
	for _, s := range sources {
		if len(s.uris) > 0 && strings.HasSuffix(strings.TrimRight(s.uris[0], "/"), "/debian-security") &&
			contains(s.components, "main") {
			return s, true
		}
	}
	return aptSource{}, false
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// readAptSources reads the sources of apt's directory (/etc/apt): sources.list, sources.list.d/*.list and *.sources. A
// file that may not be read is left out.
func readAptSources(dir string) ([]aptSource, error) {
	lists, err := filepath.Glob(filepath.Join(dir, "sources.list.d", "*.list"))
	if err != nil {
		return nil, err
	}
	stanzas, err := filepath.Glob(filepath.Join(dir, "sources.list.d", "*.sources"))
	if err != nil {
		return nil, err
	}
	var all []aptSource
	for _, f := range append([]string{filepath.Join(dir, "sources.list")}, lists...) {
		if b, err := os.ReadFile(f); err == nil {
			all = append(all, parseSourcesList(string(b))...)
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
	}
	for _, f := range stanzas {
		if b, err := os.ReadFile(f); err == nil {
			all = append(all, parseDeb822(string(b))...)
		} else if !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
	}
	return all, nil
}

// parseSourcesList reads the one-line form, sources.list(5): deb [option=value…] uri suite component…
func parseSourcesList(text string) []aptSource {
	var all []aptSource
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb")
		if !ok || rest == "" || !strings.ContainsAny(rest[:1], " \t") {
			continue
		}
		rest = strings.TrimSpace(rest)
		var s aptSource
		if strings.HasPrefix(rest, "[") {
			options, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				continue
			}
			for _, o := range strings.Fields(options) {
				if v, ok := strings.CutPrefix(strings.ToLower(o[:min(len(o), 10)])+
					o[min(len(o), 10):], "signed-by="); ok {
					s.signedBy = strings.ReplaceAll(v, ",", " ")
				}
			}
			rest = after
		}
		f := strings.Fields(rest)
		if len(f) < 2 {
			continue
		}
		s.uris, s.suites, s.components = f[:1], f[1:2], f[2:]
		all = append(all, s)
	}
	return all
}

// parseDeb822 reads the form with a stanza a source, sources.list(5).
func parseDeb822(text string) []aptSource {
	var all []aptSource
	fields := map[string]string{}
	key := ""
	flush := func() {
		list := func(k string) []string { return strings.Fields(fields[k]) }
		if contains(list("types"), "deb") && len(list("uris")) > 0 && !isNo(fields["enabled"]) {
			all = append(all, aptSource{
				list("uris"), list("suites"), list("components"),
				strings.TrimSpace(fields["signed-by"]),
			})
		}
		clear(fields)
		key = ""
	}
	sc := bufio.NewScanner(strings.NewReader(text))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := sc.Text()
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			flush()
		case line[0] == ' ' || line[0] == '\t':
			if key != "" {
				fields[key] += "\n" + line
			}
		default:
			k, v, _ := strings.Cut(line, ":")
			key = strings.ToLower(strings.TrimSpace(k))
			fields[key] = strings.TrimSpace(v)
		}
	}
	flush()
	return all
}

func isNo(v string) bool {
	switch strings.ToLower(v) {
	case "no", "false", "without", "off", "disable", "0":
		return true
	}
	return false
}

// stanza returns the source with another suite, as deb822. Only its address and its key are taken over: neither
// "trusted" nor any other option that would leave packages unchecked.
func (s aptSource) stanza(suite string) string {
	t := fmt.Sprintf("Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n", strings.Join(s.uris, " "), suite)
	if s.signedBy != "" {
		t += "Signed-By: " + s.signedBy + "\n"
	}
	return t
}

// osRelease returns the distribution and the name of its release: "debian", "bookworm".
func osRelease(path string) (id, codename string, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(b)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		v = strings.Trim(v, `"'`)
		switch k {
		case "ID":
			id = v
		case "VERSION_CODENAME":
			codename = v
		}
	}
	return id, codename, nil
}

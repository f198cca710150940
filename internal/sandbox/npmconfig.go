package sandbox

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
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

// npmRegistry is where packages come from.
type npmRegistry struct {
	file   string // the user's configuration, "" for none
	named  string // by the environment, which outranks the file
	url    string
	header http.Header
}

const npmPublic = "https://registry.npmjs.org"

// npmConfig returns npm's own registry, or what stands for it in this user's configuration once resolved: npm takes
// NPM_CONFIG_REGISTRY in either case, then registry= of ~/.npmrc (npm manual, config and npmrc).
func npmConfig() npmRegistry {
	either := func(name string) string {
		return cmp.Or(os.Getenv("npm_config_"+name), os.Getenv("NPM_CONFIG_"+strings.ToUpper(name)))
	}
	file := either("userconfig")
	if home, err := os.UserHomeDir(); err == nil && file == "" {
		file = filepath.Join(home, ".npmrc")
	}
	return npmRegistry{file: file, named: either("registry"), url: npmPublic}
}

// resolve applies the configuration: a registry for the packages' scope, the environment's, the one for all; with the
// login that the file has for it.
func (r npmRegistry) resolve() (npmRegistry, error) {
	values, err := readNPMRC(r.file)
	if err != nil {
		return r, err
	}
	text := cmp.Or(values[npmScope+":registry"], r.named, values["registry"], r.url)
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return r, hint(fmt.Errorf("%w: npm's configuration names a registry whose address cannot be used", ErrFetch),
			"correct it: npm config set registry "+npmPublic)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		r.header = http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString(
			[]byte(u.User.Username()+":"+password))}}
		u.User = nil
	}
	r.url = strings.TrimRight(u.String(), "/")
	// The login of a registry, or of all below a directory of its host (npmrc, "Auth related configuration").
	for dir := u.Host + strings.TrimRight(u.Path, "/"); ; {
		if token := values["//"+dir+"/:_authToken"]; token != "" {
			r.header = http.Header{"Authorization": {"Bearer " + token}}
			break
		}
		if login := values["//"+dir+"/:_auth"]; login != "" {
			r.header = http.Header{"Authorization": {"Basic " + login}}
			break
		}
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			break
		}
		dir = dir[:i]
	}
	return r, nil
}

// tarball returns where an archive is that the registry names: one that mirrors npm's own may name that.
func (r npmRegistry) tarball(address string) string {
	if rest, ok := strings.CutPrefix(address, npmPublic+"/"); ok {
		return r.url + "/" + rest
	}
	return address
}

// owns reports whether an address is the registry's, whose login it may be sent.
func (r npmRegistry) owns(address string) bool { return strings.HasPrefix(address, r.url+"/") }

var npmVariable = lazyregexp.New(`\$\{([^}]+)\}`)

// readNPMRC returns the settings of a file, with the environment's values where it names them: ${NAME}.
func readNPMRC(file string) (map[string]string, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, ";") || strings.HasPrefix(line, "#") {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		values[strings.TrimSpace(key)] = npmVariable.ReplaceAllStringFunc(value, func(v string) string {
			return os.Getenv(npmVariable.FindStringSubmatch(v)[1])
		})
	}
	return values, nil
}

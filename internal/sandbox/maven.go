package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// kept says what of the archive goes into the tree.
func (m mavenSource) kept(name string) string {
	name, ok := strings.CutPrefix(name, m.Below)
	if !ok {
		return ""
	}
	return m.needed(name)
}

// mavenSource is one archive as a source.
type mavenSource struct {
	maker.Archive
	central mavenRepository
	libs    aptSuite // has the libraries that the build wants and the system may lack
	needed  func(name string) string
}

func (b *Builds) maven(m maker.Archive) mavenSource {
	return mavenSource{m, b.central(), b.aptSuite(librarySuite, nil), b.needed}
}

func (m mavenSource) get(ctx context.Context, j job) (other string, err error) {
	if !matches(m.Version, j.version) {
		return m.Version, nil
	}
	repository, err := m.central.resolve()
	if err != nil {
		return "", err
	}
	sum, err := hex.DecodeString(m.SHA256)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(j.dir, "download")
	if err := makeDirs(dir); err != nil {
		return "", err
	}
	file := filepath.Join(dir, path.Base(m.Path))
	have := int64(0)
	if fi, err := os.Stat(file); err == nil {
		have = fi.Size()
	}
	if err := checkSpace(j.dir, m.Bytes-have+m.Unpacked); err != nil {
		return "", err
	}
	r := remote{
		url: repository.url + "/" + m.Path, header: repository.header, bytes: m.Bytes,
		hash: sha256.New, sum: sum,
	}
	step := fmt.Sprintf("downloading %s %s (%s) from %s", j.flavor, m.Version, j.licence, hostOf(r.url))
	if have > 0 {
		step = fmt.Sprintf("downloading the rest of %s %s (%s) from %s", j.flavor, m.Version, j.licence, hostOf(r.url))
	}
	report := meter(j.sink, progress.Progress{Step: step})
	if err := fetch(ctx, newClient(), r, file, func(done, total int64) {
		report(max(0, done-have), total-have)
	}); err != nil {
		return "", err
	}
	total, err := zipBytes(file, m.kept)
	if err != nil {
		return "", err
	}
	if err := checkSpace(j.dir, total); err != nil {
		return "", err
	}
	done, report := int64(0), meter(j.sink, progress.Progress{Step: "unpacking"})
	if err := unzip(ctx, file, j.tree, m.kept, func(n int64) { done += n; report(done, total) }); err != nil {
		return "", err
	}
	return "", m.libs.addMissing(ctx, j)
}

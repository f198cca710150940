package maker

import "github.com/dyno-perf/dyno/internal/dbms"

// Sources are where builds of a family are published, as Install gets them.
type Sources struct {
	Licence string // SPDX
	Debian  []Debian
	Maven   []Archive // newest first in each flavor, all for x86-64
	NPM     []NPM     // newest first
}

// Debian is a flavor's packages in Debian.
type Debian struct {
	Flavor   dbms.Flavor
	Packages []string // that make up a build, the server's first
	Releases []Release
	Next     string // the least version in a release of Debian that is not listed; "" when it need not have any
	// about, bytes
	Download, Unpacked int64
}

// Release is the series of a flavor that a suite of Debian has.
type Release struct {
	Suite, Version string
	Onward         bool // Version is the least there is, and moves
}

// Archive is an archive of a server in Maven Central. What is published there never changes, so its hash is known here
// and neither a mirror nor a proxy has to be trusted.
type Archive struct {
	Flavor          dbms.Flavor
	Version         string
	Path            string // below the repository
	Below           string // where the server lies in the archive
	Bytes, Unpacked int64
	SHA256          string
}

// NPM is a major version among the packages of npm, one package for each kind of machine.
type NPM struct {
	Flavor dbms.Flavor
	Major  string
	// about, bytes
	Download, Unpacked int64
}

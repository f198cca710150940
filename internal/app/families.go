package app

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/mysql"
	mysqlsandbox "github.com/dyno-perf/dyno/internal/mysql/sandbox"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/panel"
	"github.com/dyno-perf/dyno/internal/postgres"
	pgsandbox "github.com/dyno-perf/dyno/internal/postgres/sandbox"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// families are those that Dyno knows; the first is that of a server of which nothing is said.
//
// MySQL's parser reads PostgreSQL's statements as well, in the spelling of pgtext.Parsable.
var families = []family.Family{mysql.Family{}, postgres.Family{Reader: sqlshape.Parser{}}}

// Families lists the families of servers that Dyno knows.
func Families() []family.Family { return families }

// Makers lists what makes private servers; those of the first are taken where nothing is said.
func Makers() []maker.Maker { return []maker.Maker{mysqlsandbox.Maker{}, pgsandbox.Maker{}} }

// FamilyOf returns the family of a flavor; not ok for a flavor of none.
func FamilyOf(f dbms.Flavor) (family.Family, bool) {
	for _, x := range families {
		if x.Has(f) {
			return x, true
		}
	}
	return nil, false
}

// OpenSpec logs in to a server of any family.
func (a Inspection) OpenSpec(ctx context.Context, s endpoint.Spec) (family.Server, error) {
	return familyOf(s).Open(ctx, s)
}

// familyOf returns the family that a spec names by its scheme.
func familyOf(s endpoint.Spec) family.Family {
	if f, ok := FamilyOf(dbms.Flavor(s.Scheme)); ok {
		return f
	}
	return families[0]
}

// PasswordFile is what a file with the password of one server holds, see family.Family.
func PasswordFile(s endpoint.Spec, password string) string {
	return familyOf(s).PasswordFile(s, password)
}

// KindOf returns the kind of an error of any family's servers and of the way to them.
func KindOf(err error) endpoint.Kind {
	for _, f := range families {
		if k := f.KindOf(err); k != endpoint.Unknown {
			return k
		}
	}
	return endpoint.Unknown
}

// HintOf returns what the user can do about such an error; "" when nothing is known.
func HintOf(err error) string {
	for _, f := range families {
		if text := f.HintOf(err); text != "" {
			return text
		}
	}
	return ""
}

// SourceNames lists what the servers of families are read by, each name once.
func SourceNames(of ...family.Family) (names []string) {
	for _, f := range of {
		for _, x := range f.Sources() {
			if !slices.Contains(names, string(x.Name)) {
				names = append(names, string(x.Name))
			}
		}
	}
	return names
}

// Panels lists the graphs of the servers of all families, those of one id but once.
func Panels() (all []panel.Panel) {
	for _, f := range families {
		for _, p := range f.Panels() {
			if _, there := panel.Find(all, p.ID); !there {
				all = append(all, p)
			}
		}
	}
	return all
}

// Family returns the family of a target, by what names it.
func (a Inspection) Family(ctx context.Context, text string) (family.Family, error) {
	s, err := a.Locate(ctx, text, &Login{})
	if err != nil {
		return nil, err
	}
	return familyOf(s), nil
}

// ShareWork has this process tell the others of its account what it does on servers, and leave out what they do, until
// end. home is where Dyno keeps things.
func ShareWork(home string) (end func()) { return target.ShareWork(filepath.Join(home, "own-work")) }

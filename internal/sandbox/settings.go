package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

var settingNames = lazyregexp.New(`^[a-z][a-z0-9_.]*$`)

// settings is what a user asked for, made ready: names in lower case with underscores, the port apart.
type settings struct {
	values map[string]string
	port   int      // 0: any
	first  []string // the names of those that hold from the moment a data directory is made
}

// readSettings checks the settings of a Config for servers of a family. Its error joins all that is wrong with them.
func readSettings(f maker.Maker, in map[string]string) (settings, error) {
	s := settings{values: map[string]string{}, first: f.Traits().Initial}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(in)) {
		value := in[key]
		name := strings.ReplaceAll(strings.ToLower(strings.TrimLeft(key, "-")), "-", "_")
		port, reserved := f.Setting(name)
		switch {
		case !settingNames.MatchString(name):
			errs = append(errs, fmt.Errorf("%q is not a setting's name", key))
		case strings.ContainsAny(value, "\n\r\x00"):
			errs = append(errs, fmt.Errorf("%s: the value has a line break", name))
		case reserved != "":
			errs = append(errs, fmt.Errorf("%s cannot be set: %s", name, reserved))
		case port:
			p, err := strconv.Atoi(value)
			if err != nil || p < 1 || p > 65535 {
				errs = append(errs, fmt.Errorf("port %q is not a number from 1 to 65535", value))
			}
			s.port = p
		default:
			if _, twice := s.values[name]; twice {
				errs = append(errs, fmt.Errorf("%s is set twice", name))
			}
			s.values[name] = value
		}
	}
	if len(errs) > 0 {
		return settings{}, fmt.Errorf("%w: %w", ErrSettings, inline(errs))
	}
	return s, nil
}

// options returns the settings as options, in a fixed order.
func (s settings) options() []string {
	var opts []string
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		opts = append(opts, option(name, s.values[name]))
	}
	return opts
}

// initial returns those options that a template must be made with.
func (s settings) initial() []string {
	var opts []string
	for _, name := range s.first {
		if v, ok := s.values[name]; ok {
			opts = append(opts, option(name, v))
		}
	}
	return opts
}

func option(name, value string) string {
	return "--" + strings.ReplaceAll(name, "_", "-") + "=" + value
}

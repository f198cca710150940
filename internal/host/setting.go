package host

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

var settingName = lazyregexp.New(`^[a-z0-9][a-z0-9_.:-]*(/[a-z0-9][a-z0-9_.:-]*)*$`)

// settingPath returns where the kernel shows a setting: a sysctl under its dotted name ("vm.swappiness"), anything else
// by its path below /sys ("kernel/mm/transparent_hugepage/enabled").
func settingPath(f FS, name string) (string, error) {
	if !settingName.MatchString(name) || strings.Contains(name, "..") {
		return "", fmt.Errorf("%q is not a name of a kernel setting", name)
	}
	if !IsSysctl(name) {
		return f.path("sys", name), nil
	}
	return f.path("proc", "sys", strings.ReplaceAll(name, ".", "/")), nil
}

// IsSysctl reports whether a setting is a sysctl, by its name.
func IsSysctl(name string) bool { return !strings.Contains(name, "/") }

// MaySet reports whether this process may change the setting.
func (f FS) MaySet(name string) bool {
	path, err := settingPath(f, name)
	return err == nil && mayWrite(path)
}

// Setting returns a setting of the kernel, see settingPath. Of a choice, which the kernel writes as "always [madvise]
// never", it is the word in brackets.
func (f FS) Setting(name string) (string, error) {
	path, err := settingPath(f, name)
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the kernel's setting %s: %w", name, err)
	}
	text := string(bytes.TrimSpace(b))
	if _, rest, ok := strings.Cut(text, "["); ok {
		if word, _, ok := strings.Cut(rest, "]"); ok {
			return word, nil
		}
	}
	return strings.Join(strings.Fields(text), " "), nil
}

// SetSetting gives a setting a value, until the machine starts anew. It takes root.
func (f FS) SetSetting(name, value string) error {
	path, err := settingPath(f, name)
	if err != nil {
		return err
	}
	// it must be there: the kernel makes these files, we do not
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("set the kernel's %s: %w", name, err)
	}
	_, werr := file.WriteString(value + "\n")
	if cerr := file.Close(); werr == nil {
		werr = cerr
	}
	if werr != nil {
		return fmt.Errorf("set the kernel's %s to %s: %w", name, value, werr)
	}
	return nil
}

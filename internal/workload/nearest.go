package workload

import (
	"fmt"

	"dyno/internal/near"
)

// Find returns the workload of that name. The error of an unknown one suggests the nearest.
func Find(list []Workload, name string) (Workload, error) {
	names := make([]string, len(list))
	for i, w := range list {
		if w.Name() == name {
			return w, nil
		}
		names[i] = w.Name()
	}
	return nil, fmt.Errorf("unknown workload %q%s", name, suggest(name, names))
}

// suggest returns ", did you mean x?" for the nearest of the names, "" when none is near.
func suggest(name string, names []string) string {
	best := near.Name(name, names, len(name)/2+1)
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// Suggest returns ", did you mean x?" for the workload whose name is nearest, "" when none is near.
func Suggest(name string, list []Workload) string {
	names := make([]string, len(list))
	for i, w := range list {
		names[i] = w.Name()
	}
	return suggest(name, names)
}

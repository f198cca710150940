package workload

import "fmt"

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
	best, least := "", len(name)/2+1
	for _, n := range names {
		if d := distance(name, n); d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// distance is the number of bytes to insert, delete or replace to get from a to b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Suggest returns ", did you mean x?" for the workload whose name is nearest, "" when none is near.
func Suggest(name string, list []Workload) string {
	names := make([]string, len(list))
	for i, w := range list {
		names[i] = w.Name()
	}
	return suggest(name, names)
}

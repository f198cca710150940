// Package recipe lists the experiments that ship with Dyno; their files are in package recipes. A
// recipe is a plan: the output of `dyno recipe show` can be saved, changed and run with `dyno
// compare`.
package recipe

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/recipes"
)

// Recipe is one experiment that ships with Dyno.
type Recipe struct {
	Name  string `json:"name"`
	Title string `json:"title"` // the question it answers
	Topic string `json:"topic"` // what was published
	Text  []byte `json:"-"`     // the plan as it is written
}

// Scales are the sizes that a recipe can be run in: small ends within ten minutes on two CPUs.
var Scales = []string{"small", "medium", "full"}

// All returns the recipes by name. Workloads and words are those that plans may name, see plan.Options.
func All(workloads []workload.Workload, words plan.Words) ([]Recipe, error) {
	names, err := fs.Glob(recipes.Files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("read recipes: %w", err)
	}
	var out []Recipe
	for _, file := range names {
		text, err := recipes.Files.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read recipe: %w", err)
		}
		p, err := plan.Parse(text, plan.Options{File: file, Workloads: workloads, Words: words})
		if err != nil {
			return nil, fmt.Errorf("read recipe: %w", err)
		}
		out = append(out, Recipe{Name: strings.TrimSuffix(file, ".yaml"), Title: p.Title, Topic: p.Topic, Text: text})
	}
	slices.SortFunc(out, func(a, b Recipe) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// UnknownError is the answer to a name that no recipe has.
type UnknownError struct {
	Name string
	Has  []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no recipe is called %q; there are %s", e.Name, strings.Join(e.Has, ", "))
}

// Find returns the recipe of that name, or an *UnknownError.
func Find(name string) (Recipe, error) {
	text, err := recipes.Files.ReadFile(name + ".yaml")
	if err == nil {
		return Recipe{Name: name, Text: text}, nil
	}
	e := &UnknownError{Name: name}
	names, _ := fs.Glob(recipes.Files, "*.yaml") // the pattern is a good one
	for _, n := range names {
		e.Has = append(e.Has, strings.TrimSuffix(n, ".yaml"))
	}
	return Recipe{}, e
}

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/recipe"
)

func newRecipeCommand(e *env) *cobra.Command {
	return group("recipe", "experiments that ship with Dyno and reproduce what performance engineers have published",
		newRecipeLsCommand(e), newRecipeShowCommand(e), newRecipeRunCommand(e))
}

func newRecipeLsCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "list the recipes and their questions",
		Args: args(0, 0),
	}
	c.RunE = func(*cobra.Command, []string) error {
		all, err := lab.Recipes(e.app)
		if err != nil {
			return err
		}
		return listed(e, fmt.Sprintf("%-18s %-42s %s", "NAME", "QUESTION", "TOPIC"), all, func(r recipe.Recipe) string {
			return fmt.Sprintf("%-18s %-42s %s", r.Name, r.Title, e.dim(r.Topic))
		}, "")
	}
	return c
}

func newRecipeShowCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use: "show NAME", Short: "print the recipe's plan, to read, or to save and edit",
		Args: args(1, 1),
	}
	c.RunE = func(_ *cobra.Command, a []string) error {
		r, err := findRecipe(a[0])
		if err != nil {
			return err
		}
		if e.json() {
			return e.writeJSON(struct {
				Name string `json:"name"`
				Plan string `json:"plan"`
			}{r.Name, string(r.Text)})
		}
		_, err = e.Out.Write(r.Text)
		return err
	}
	return c
}

func newRecipeRunCommand(e *env) *cobra.Command {
	x := &compareFlags{}
	c := &cobra.Command{
		Use:   "run NAME",
		Short: "run a recipe and print its table",
		Long: `Runs a recipe on private servers and prints its table, compared with published results. small takes less than ten
minutes on two CPUs; its grid is a part of the full one, and every cell shows its n.`,
		Example: "  dyno recipe run threads\n  dyno recipe run charset --scale medium\n  dyno recipe run versions " +
			"--axis server=mariadb@10.11,mariadb@11.8 --dry-run",
		Args: args(1, 1),
	}
	x.add(c)
	c.Flags().StringVar(&x.o.Scale, "scale", "small", strings.Join(recipe.Scales, ", "))
	c.RunE = func(c *cobra.Command, a []string) error {
		if err := x.settle(); err != nil {
			return err
		}
		if !slices.Contains(recipe.Scales, x.o.Scale) {
			return usagef("--scale %s: it takes %s", x.o.Scale, strings.Join(recipe.Scales, ", "))
		}
		r, err := findRecipe(a[0])
		if err != nil {
			return err
		}
		switch {
		case x.o.Resume == "":
			x.o.Text, x.o.File = r.Text, "recipe "+r.Name
		case !c.Flags().Changed("scale"): // that of the experiment
			x.o.Scale = ""
			fallthrough
		default:
			x.o.Recipe = r.Name
		}
		_, err = x.run(c.Context(), e)
		return err
	}
	return c
}

func findRecipe(name string) (recipe.Recipe, error) {
	r, err := recipe.Find(name)
	if err != nil {
		return r, &exitError{exitUsage, err}
	}
	return r, nil
}

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (e *env) store() *cobra.Command {
	check := &cobra.Command{
		Use:   "check",
		Short: "is what Dyno keeps whole, and if not, what is lost",
		Args:  args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := e.app.CheckStores(c.Context())
			if err != nil {
				return err
			}
			whole := true
			for _, r := range all {
				whole = whole && r.OK
				if e.json() {
					if err := e.writeJSON(r); err != nil {
						return err
					}
					continue
				}
				fmt.Fprint(e.Out, r.Text)
			}
			if !whole {
				return &exitError{exitFailed, nil}
			}
			return nil
		},
	}
	return group("store", "the health of what Dyno keeps: check", check)
}

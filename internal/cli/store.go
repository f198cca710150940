package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"dyno/internal/store/ledger"
)

func (e *env) store() *cobra.Command {
	check := &cobra.Command{
		Use:   "check",
		Short: "is what Dyno keeps whole, and if not, what is lost",
		Args:  args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := ledger.Check(c.Context(), e.app.LedgerPath())
			if err != nil {
				return err
			}
			if e.json() {
				if err := e.writeJSON(r); err != nil {
					return err
				}
			} else {
				fmt.Fprint(e.Out, r.Text())
			}
			if !r.OK() {
				return &exitError{exitFailed, nil}
			}
			return nil
		},
	}
	return group("store", "the health of what Dyno keeps: check", check)
}

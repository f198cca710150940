package page

import (
	"errors"
	"strings"
	"testing"
)

// TestPanelsByLabel reads whole tables and holds what the graphs by handler, table, file and purpose show against the
// names that the server has for them.
func TestPanelsByLabel(t *testing.T) {
	s := stage(t)
	s.Exec("CREATE TABLE IF NOT EXISTS scanned_by_panels AS SELECT seq a FROM seq_1_to_20000")
	b := s.Browser(t)
	visit(b, "/overview?target=shop&from=-5m")
	b.Wait("#panel-tablerows")
	eventually(t, "the table is one of those that are read most", func() error {
		// A counter grows from the second time on that it is read. Exec opens a connection each time.
		if _, err := s.DB.ExecContext(t.Context(), "SELECT SUM(a) FROM shop.scanned_by_panels"); err != nil {
			return err
		}
		if legend := b.Text("#panel-tablerows .plot-legend"); !strings.Contains(legend, "scanned_by_panels") {
			return errors.New(legend)
		}
		return nil
	})
	for panel, legend := range map[string]string{
		"handlers": "read_rnd_next", "states": "", "rowlocktime": "row locks", "waitevents": "aria",
		"memoryevents": "memory", "tablerows": "scanned_by_panels",
	} {
		b.Wait("#panel-" + panel)
		b.WaitText("#panel-"+panel+" .plot-legend", legend)
	}
	b.Wait("SHOW ENGINE INNODB STATUS of this version does not count them")
	b.Wait("SET GLOBAL innodb_monitor_enable='module_index'")
	b.Wait("Replication workers unavailable: this server is not a replica")
	inBoth(b, "panels")
	b.Phone()
	b.Settle()
	b.ShotAll("panels-phone")
}

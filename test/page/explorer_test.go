package page

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestExplorer writes an expression with the keyboard alone, whose counter gets a rate and a sum, compares what is
// drawn with what a query answers, and sees an error at its place.
func TestExplorer(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/explorer?target=shop&from=-5m")
	b.Wait("dyno_client_status")
	b.Click(".ex-editor textarea")
	b.Type("status_questions")
	b.Wait(".ex-list [role=option]")
	b.Key("ArrowDown", "Enter")
	b.WaitURL("expr=")
	const want = `sum(rate(mysql_global_status_questions{target="shop"}[1m]))`
	if got := b.Param("expr"); got != want {
		t.Errorf("the counter became %q, want %q", got, want)
	}
	b.Wait(".ex-plot canvas")
	b.Wait("section[aria-label=Result] tbody tr")
	b.Settle()
	inBoth(b, "explorer-counter")

	// What a label is compared with is completed from the store.
	visit(b, "/explorer?target=shop&from=-5m")
	b.Click(".ex-editor textarea")
	b.Type(`sum by (command) (rate(mysql_global_status_commands_total{target="shop",command="sel`)
	b.Until("the value is offered", func() error {
		if all := b.Texts(".ex-list [role=option]"); len(all) == 0 || all[0] != "select" {
			return fmt.Errorf("%q", all)
		}
		return nil
	})
	b.Shot("explorer-completion")
	b.Key("ArrowDown", "Tab")
	b.Type(`}[1m]))`)
	b.Key("Enter")
	b.WaitURL("expr=")
	b.WaitText("section[aria-label=Result] table", "sum by (command)")

	// An error is said at its expression, and the others are drawn.
	b.Allow(`query_range.*up%29`)
	visit(b, "/explorer?target=shop&from=-5m&expr=up%29%0Amysql_up")
	b.WaitText(".ex-error", "parse error")
	if got := b.Text(".ex-error mark"); got != ")" {
		t.Errorf("the place of the error is %q", got)
	}
	b.WaitText("section[aria-label=Result] table", "shop")
	b.Shot("explorer-error")

	// Every graph leads here, with its expressions.
	visit(b, "/overview?target=shop&from=-5m")
	b.Settle()
	b.Click("#panel-throughput .explore")
	b.WaitText("h1", "Explorer")
	if got := b.Param("expr"); !strings.Contains(got, "commands_total") || strings.Count(got, "\n") != 2 ||
		b.Param("from") != "-5m" {
		t.Errorf("the graph leads to %q from %q", got, b.Param("from"))
	}
	b.WaitFor(`document.querySelectorAll('section[aria-label=Result] tbody tr').length >= 3`)
	b.Phone()
	b.Settle()
	sound(t, b, place{"explorer-phone", "", "Explorer"})
	b.ShotAll("explorer-phone")
	b.Axe()
}

// TestCounters compares two moments and finds the load between them, to the statement.
func TestCounters(t *testing.T) {
	s := stage(t)
	s.watchedFor(20 * time.Second)
	b := s.Browser(t)
	end := time.Now().Unix() - 3
	visit(b, fmt.Sprintf("/explorer?target=shop&from=-5m&view=counters&a=%d&b=%d&q=select", end-10, end))
	b.WaitText("section[aria-label=Counters] table", `mysql_global_status_commands_total{command="select"}`)
	b.Key(".")
	b.WaitURL(fmt.Sprintf("a=%d", end-9))
	visit(b, fmt.Sprintf("/explorer?target=shop&from=-5m&view=counters&a=%d&b=%d", end-10, end))
	b.WaitText("section[aria-label=Counters] table", "mysql_global_status_questions")
	inBoth(b, "counters")
	visit(b, fmt.Sprintf("/explorer?target=shop&from=-5m&view=counters&a=%d&b=%d&q=command+select", end-10, end))
	b.Click("section[aria-label=Counters] tbody tr a") // its rate over time
	b.WaitFor(`document.querySelectorAll('section[aria-label=Result] tbody tr').length === 1`)
	visit(b, fmt.Sprintf("/explorer?target=shop&from=-5m&view=counters&a=%d&b=%d", end-10, end))
	got := s.Dyno("watch", "shop", "--at", time.Unix(end-10, 0).Format(time.RFC3339), "--deltas", "10s")
	if !strings.Contains(got, `mysql_global_status_commands_total{command="select"}`) {
		t.Errorf("on the command line:\n%s", got)
	}
	b.Phone()
	b.Settle()
	sound(t, b, place{"counters-phone", "", "Explorer"})
	b.ShotAll("counters-phone")
}

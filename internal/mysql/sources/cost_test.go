package sources

import (
	"context"
	"errors"
	"testing"

	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestMeasure(t *testing.T) {
	s := servers.Start(t, "mariadb")
	tg := open(t, s, "root")
	const rounds = 5
	prices, err := Measure(t.Context(), tg, scrape.Options{Sources: []string{
		"host", "global_status",
		"innodb_metrics", "waits",
	}}, rounds)
	if err != nil {
		t.Fatal(err)
	}
	if len(prices) != 4 {
		t.Fatalf("%+v", prices)
	}
	for _, p := range prices {
		cpu, ok := p.ClientMS.Get()
		switch p.Source {
		case "waits": // performance_schema is off
			if p.State != source.Missing || p.Reads != 0 || p.Reason == "" || ok {
				t.Errorf("%+v", p)
			}
			continue
		case "host":
			if p.Rows != 0 || p.Statements != 0 || p.ServerMS.Max != 0 {
				t.Errorf("it asks the server: %+v", p)
			}
		default:
			if p.Statements < 1 || p.Statements > 2 || p.Rows < 20 || p.Bytes < p.Rows ||
				p.ServerMS.Mean < p.ServerMS.Min || p.ServerMS.Mean > p.ServerMS.Max || p.ServerMS.Min <= 0 {
				t.Errorf("%+v", p)
			}
		}
		if p.State != source.OK || p.Reads != rounds || p.Samples < 20 || !ok || cpu <= 0 {
			t.Errorf("%+v", p)
		}
		if server, client := p.PerSecond(); server > p.ServerMS.Mean || client.Or(0) > cpu {
			t.Errorf("%v and %v a second: %+v", server, client, p)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measure(ctx, tg, scrape.Options{}, rounds); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := Measure(t.Context(), tg, scrape.Options{}, 0); err == nil {
		t.Error("no rounds at all were accepted")
	}
}

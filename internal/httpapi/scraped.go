package httpapi

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/exposition"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/service"
)

// The labels that tell targets apart: target, as in the store, and instance, which dashboards choose by.
const (
	targetLabel   = "target"
	instanceLabel = "instance"
)

// scrapeAPI is what a Prometheus scrapes.
type scrapeAPI struct{ fleet *service.Fleet }

func (h scrapeAPI) routes(v *Server) {
	v.get("/metrics", h.metrics)
	v.get("/probe", h.probe)
}

// metrics writes the newest samples of all targets, each with its target as the labels target and instance. A source
// that is read every ten minutes has its last samples in it until the next reading; a series that is gone, and
// everything of a server that is down but what tells so, is not.
func (h scrapeAPI) metrics(r *http.Request) (any, error) {
	var all []exposition.Group
	for _, m := range h.fleet.All() {
		name := m.Entry.Name
		samples, _ := h.fleet.Newest(name)
		all = append(all, exposition.Group{
			Labels: metric.L(targetLabel, name, instanceLabel, name), Samples: samples,
		})
	}
	return exposed(r, all)
}

// probe writes those of one target as an exporter of its own would: the Prometheus that asks adds the label instance.
func (h scrapeAPI) probe(r *http.Request) (any, error) {
	p := query(r)
	name := p.need("target")
	if p.err != nil {
		return nil, p.err
	}
	samples, ok := h.fleet.Newest(name)
	if !ok {
		return nil, unknownTarget(name)
	}
	return exposed(r, []exposition.Group{{Samples: samples}})
}

func exposed(r *http.Request, all []exposition.Group) (any, error) {
	f := exposition.Negotiate(r.Header.Get("Accept"))
	var b bytes.Buffer // whole or not at all: half an answer would look like series that ended
	if err := exposition.Write(&b, f, app.Help, all...); err != nil {
		return nil, fmt.Errorf("write samples: %w", err)
	}
	return written{typ: f.ContentType(), body: b.Bytes()}, nil
}

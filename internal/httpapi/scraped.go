package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"dyno/internal/exposition"
	"dyno/internal/metric"
)

// The labels that tell targets apart: target, as in the store, and instance, which dashboards choose by.
const (
	targetLabel   = "target"
	instanceLabel = "instance"
)

// scraped registers what a Prometheus scrapes.
func (v *Server) scraped() {
	v.handle("GET /metrics", v.metrics)
	v.handle("GET /probe", v.probe)
}

// metrics writes the newest samples of all targets, each with its target as the labels target and instance.
func (v *Server) metrics(w http.ResponseWriter, r *http.Request) {
	v.expose(w, r, "", func(l Latest) metric.Labels {
		if l.Target == "" {
			return l.Labels
		}
		kv := []string{targetLabel, l.Target, instanceLabel, l.Target}
		for _, x := range l.Labels {
			if x.Name != targetLabel && x.Name != instanceLabel {
				kv = append(kv, x.Name, x.Value)
			}
		}
		return metric.L(kv...)
	})
}

// probe writes those of one target as an exporter of its own would: the Prometheus that asks adds the label instance.
func (v *Server) probe(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	name := p.need("target")
	if p.err != nil {
		respondError(w, http.StatusBadRequest, "bad_data", p.err.Error())
		return
	}
	v.expose(w, r, name, func(l Latest) metric.Labels { return l.Labels })
}

func (v *Server) expose(w http.ResponseWriter, r *http.Request, name string, labels func(Latest) metric.Labels) {
	if v.service.Fleet == nil {
		absent(w)
		return
	}
	groups, err := groups(r.Context(), v.service.Fleet, name, labels)
	if err != nil {
		v.fail(w, r, err)
		return
	}
	f := exposition.Negotiate(r.Header.Get("Accept"))
	var b bytes.Buffer // whole or not at all: half an answer would look like series that ended
	if err := exposition.Write(&b, f, groups...); err != nil {
		v.fail(w, r, fmt.Errorf("write samples: %w", err))
		return
	}
	w.Header().Set("Content-Type", f.ContentType())
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(b.Bytes())
}

func groups(ctx context.Context, f Fleet, name string, labels func(Latest) metric.Labels) ([]exposition.Group, error) {
	all, err := f.Latest(ctx, name)
	if err != nil {
		return nil, err
	}
	out := make([]exposition.Group, len(all))
	for i, l := range all {
		out[i] = exposition.Group{Labels: labels(l), Samples: l.Samples}
	}
	return out, nil
}

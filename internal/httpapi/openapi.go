package httpapi

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"net/http"
)

// openAPI describes Dyno's own JSON, with gzip, which is a sixth of openapi.yaml beside it. It is made of the types
// that are answered with: go test -run TestOpenAPI -update.
//
//go:embed openapi.yaml.gz
var openAPI []byte

func (v *Server) openapiRoutes() {
	v.handle("GET /api/dyno/v1/openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml; charset=utf-8") // RFC 9512
		z, err := gzip.NewReader(bytes.NewReader(openAPI))
		if err != nil {
			panic(err) // a test reads it
		}
		_, _ = io.Copy(w, z)
	})
}

package httpapi

import (
	_ "embed"
	"net/http"
)

// openAPI describes Dyno's own JSON. It is made of the types that are answered with: go test -run TestOpenAPI -update.
//
//go:embed openapi.yaml
var openAPI []byte

func (v *Server) openapiRoutes() {
	v.handle("GET /api/dyno/v1/openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml; charset=utf-8") // RFC 9512
		_, _ = w.Write(openAPI)
	})
}

package workload

import "testing"

func TestUpdateNonIndex(t *testing.T) {
	checkShape(t, UpdateNonIndex{}, nil, update2)
	checkShape(t, UpdateNonIndex{}, map[string]string{"non-index-updates": "3", "index-updates": "7"},
		update2, update2, update2)
	refuses(t, UpdateNonIndex{}, map[string]string{"non-index-updates": "0"}, "option non-index-updates: every kind")
}

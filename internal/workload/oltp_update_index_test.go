package workload

import "testing"

func TestUpdateIndex(t *testing.T) {
	checkShape(t, UpdateIndex{}, nil, update)
	checkShape(t, UpdateIndex{}, map[string]string{"index-updates": "3", "non-index-updates": "7"},
		update, update, update)
	refuses(t, UpdateIndex{}, map[string]string{"index-updates": "0"}, "option index-updates: every kind")
}

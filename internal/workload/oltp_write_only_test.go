package workload

import "testing"

func TestWriteOnly(t *testing.T) {
	checkShape(t, WriteOnly{}, nil, "BEGIN", update, update2, del, ins, "COMMIT")
	checkShape(t, WriteOnly{}, map[string]string{
		"skip-trx": "on", "index-updates": "0", "delete-inserts": "2",
		"point-selects": "9",
	}, update2, del, ins, del, ins)
	refuses(t, WriteOnly{}, map[string]string{"index-updates": "0", "non-index-updates": "0", "delete-inserts": "0"},
		"nothing is left")
}

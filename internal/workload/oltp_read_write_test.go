package workload

import "testing"

func TestReadWrite(t *testing.T) {
	checkShape(t, ReadWrite{}, nil, "BEGIN", point, point, point, point, point, point, point, point, point, point,
		simple, sum, order, distinct,
		update, update2, del, ins, "COMMIT")
	checkShape(t, ReadWrite{}, map[string]string{
		"point-selects": "0", "range-selects": "off", "index-updates": "2",
		"non-index-updates": "0", "delete-inserts": "2", "skip-trx": "on",
	},
		update, update, del, ins, del, ins)
}

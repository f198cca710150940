package workload

import "testing"

func TestReadOnly(t *testing.T) {
	checkShape(t, ReadOnly{}, nil, "BEGIN", point, point, point, point, point, point, point, point, point, point,
		simple, sum, order, distinct, "COMMIT")
	checkShape(t, ReadOnly{}, map[string]string{
		"point-selects": "1", "sum-ranges": "2", "order-ranges": "0",
		"skip-trx": "on",
	}, point, simple, sum, sum, distinct)
	checkShape(t, ReadOnly{}, map[string]string{"point-selects": "2", "range-selects": "off"}, "BEGIN",
		point, point, "COMMIT")
}

package workload

import "testing"

func TestPointSelect(t *testing.T) {
	checkShape(t, PointSelect{}, nil, point)
	checkShape(t, PointSelect{}, map[string]string{"point-selects": "7", "skip-trx": "on"}, point)
	if n := len(build(t, PointSelect{}, map[string]string{"tables": "3"}).Statements); n != 3 {
		t.Errorf("%d statements to prepare for three tables", n)
	}
}

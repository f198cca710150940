package workload

import (
	"strconv"
	"testing"
)

func TestWideMetricRows(t *testing.T) {
	p := build(t, WideMetricsSelect(), map[string]string{"table-size": "1000", "hosts": "10", "metrics": "50"})
	rows := rowsOf(p.Tables[0], 7, 1, 1000)
	same, all, nulls := 0, 0, 0
	for i, r := range rows {
		if len(r) != 53 || r[2] != "db-"+strconv.Itoa(i%10+1)+".example.com" {
			t.Fatalf("row %d is %v", i+1, r[:3])
		}
		if i < 10 {
			continue
		}
		before := rows[i-10] // of the same host
		if r[1] <= before[1] {
			t.Fatalf("%s follows %s", r[1], before[1])
		}
		for m := range r[3:] {
			a, b := before[3+m], r[3+m]
			switch m % metricKinds {
			case counterMetric:
				x, err := strconv.Atoi(a)
				if y, yerr := strconv.Atoi(b); err != nil || yerr != nil || y < x {
					t.Fatalf("counter %d goes from %s to %s", m, a, b)
				}
			case percentMetric:
				if f, err := strconv.ParseFloat(b, 64); err != nil || f < 0 || f > 100 {
					t.Fatalf("%s percent", b)
				}
			case rareMetric:
				if b == "NULL" {
					nulls++
				}
			case fixedMetric:
				if a != b {
					t.Fatalf("a setting goes from %s to %s", a, b)
				}
			}
			all++
			if a == b {
				same++
			}
		}
	}
	if share := float64(same) / float64(all); share < 0.3 || share > 0.8 {
		t.Errorf("%.2f of the values are those of the row before", share)
	}
	if n := 990 * 10; nulls < n*9/10 || nulls == n {
		t.Errorf("%d of %d rare values are NULL", nulls, n)
	}
}

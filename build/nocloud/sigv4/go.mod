module github.com/prometheus/sigv4

go 1.26

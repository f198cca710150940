package catalog

// size returns the most bytes that one value of a column takes, 0 for a type it does not know. octets, precision and
// scale are those of information_schema.COLUMNS. Fixed types:
// https://dev.mysql.com/doc/refman/9.0/en/storage-requirements.html
func size(dataType string, octets, precision, scale, fraction int) int {
	parts := (fraction + 1) / 2 // of a second
	switch dataType {
	case "tinyint", "year":
		return 1
	case "smallint":
		return 2
	case "mediumint":
		return 3
	case "int", "float", "inet4":
		return 4
	case "date":
		return 3
	case "time":
		return 3 + parts
	case "timestamp":
		return 4 + parts
	case "datetime":
		return 5 + parts
	case "bigint", "double", "set":
		return 8
	case "bit":
		return (precision + 7) / 8
	case "decimal":
		return decimal(precision-scale) + decimal(scale)
	case "enum":
		return 2
	case "uuid", "inet6":
		return 16
	}
	return octets
}

// decimal returns the bytes of digits on one side of the point: nine take four, what is left fewer.
func decimal(digits int) int {
	return digits/9*4 + []int{0, 1, 1, 2, 2, 3, 3, 4, 4}[max(0, digits%9)]
}

// Package sketch stores the distribution of any number of values in little memory. A quantile is at
// most 1 % away from the value at that rank, for any distribution. Merging the sketches of parts
// gives exactly the sketch of the whole. It does not keep the values themselves.
//
// Values are counted in bins. Every power of two is divided into 64 bins of equal width, so a bin
// is at most 1/64 as wide as the values in it, and its middle is at most 1/128 away from each of
// them. The bin of a value comes from the bits of its floating-point form.
package sketch

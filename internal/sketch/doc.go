// Package sketch keeps the distribution of any number of values in little memory: a quantile read from it is at most 1 % away from the value
// at that rank, whatever the distribution, and merging the sketches of parts gives exactly the sketch of the whole.
//
// Values are counted in bins: every power of two is cut into 64 bins of equal width, so that a bin is at most 1/64 as wide as the values in
// it and its middle at most 1/128 away from each of them. The bin of a value is read from the bits of its floating-point form.
package sketch

// Package digestsource reads query classes of a live server as deltas over a window.
package digestsource

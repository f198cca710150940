// Package loader loads the MySQL family: it is the part of a load that package load asks a family of servers
// for, over the general driver and over bare descriptors. It also makes the data, checks and warms it, and
// replays slow logs and general logs.
package loader

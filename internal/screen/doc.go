// Package screen draws the terminal view of a server: its headline metrics, lock waits, the most
// expensive query classes, and the sessions. It also shows any past second that its source has
// stored. It reads no server; it gets states from its source.
//
// Run is the terminal view. Plain writes the same content as text if there is no terminal, and JSON
// writes a line for programs. A value that was not observed is shown as "–", never as 0; the view
// "sources" shows the reason.
//
// Everything that comes from a server (statements, user names, error texts) is made harmless before
// it is drawn: control characters, directional marks and everything else that could control a
// terminal is replaced, see clean.
package screen

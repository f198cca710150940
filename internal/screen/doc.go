// Package screen draws the live view of a server on a terminal: its headline figures, who waits for whom, the classes that take
// the time, the sessions. It shows any past second that its source has kept, too.
//
// Run is the screen, Plain the same content as text for what is not a terminal, JSON a line for programs. A figure that was
// not observed is shown as "–", never as 0; the view "sources" says why.
//
// Everything that comes from a server (statements, user names, error texts) is made harmless before it is drawn: control
// characters, directional marks and whatever else could steer a terminal is replaced, see clean.
package screen

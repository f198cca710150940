package wire

// Caps are the capabilities that client and server agree on. The upper half is MariaDB's own.
type Caps uint64

// The capabilities that matter to this client. Others are never asked for.
const (
	LongPassword   Caps = 1 << 0 // sent by every server but MariaDB, whose own capabilities then hold
	LongFlag       Caps = 1 << 2
	ConnectWithDB  Caps = 1 << 3
	Protocol41     Caps = 1 << 9
	TLS            Caps = 1 << 11
	Transactions   Caps = 1 << 13
	SecureAuth     Caps = 1 << 15
	MultiResults   Caps = 1 << 17 // a procedure may answer with several results
	PSMultiResults Caps = 1 << 18
	PluginAuth     Caps = 1 << 19
	ConnectAttrs   Caps = 1 << 20
	LenencAuth     Caps = 1 << 21
	// an OK packet takes the place of EOF at the end of rows, and none stands after columns
	DeprecateEOF Caps = 1 << 24
	// CacheMetadata lets MariaDB (10.6 and later) leave out the columns of a prepared statement's answer when they are
	// those it told before.
	CacheMetadata Caps = 1 << 36
)

// wanted is what this client asks for where the server can. Not among them: LOCAL INFILE, which lets a server ask for
// any file of this machine, and several statements in one text.
const wanted = LongPassword | LongFlag | Protocol41 | Transactions | SecureAuth | MultiResults | PSMultiResults |
	PluginAuth | ConnectAttrs |
	LenencAuth | DeprecateEOF | CacheMetadata

// Has reports whether all of x are among c.
func (c Caps) Has(x Caps) bool { return c&x == x }

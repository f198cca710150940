package wire

const (
	headSize = 4
	// maxPayload is what one packet holds at most. A longer payload continues in the next packet, and one that fills
	// its last packet is followed by an empty one.
	maxPayload = 1<<24 - 1
)

const (
	comQuit    = 0x01
	comQuery   = 0x03
	comPing    = 0x0e
	comPrepare = 0x16
	comExecute = 0x17
	comClose   = 0x19
)

// begin leaves room for a packet's header and appends its first byte.
func begin(dst []byte, command byte) []byte { return append(dst, 0, 0, 0, 0, command) }

// seal fills in the header of the packet that begins at start, numbered from seq, and breaks it up where it is longer
// than a packet may be.
func seal(dst []byte, start int, seq byte) []byte {
	n := len(dst) - start - headSize
	if n < maxPayload {
		dst[start], dst[start+1], dst[start+2], dst[start+3] = byte(n), byte(n>>8), byte(n>>16), seq
		return dst
	}
	return split(dst, start, seq)
}

// split is seal for long payloads: it makes room for a header after every maxPayload bytes, from the end backwards.
func split(dst []byte, start int, seq byte) []byte {
	n := len(dst) - start - headSize
	more := n / maxPayload // headers besides the first
	dst = append(dst, make([]byte, more*headSize)...)
	for i := more; i >= 0; i-- {
		size := min(maxPayload, n-i*maxPayload)
		from := start + headSize + i*maxPayload
		to := from + i*headSize
		copy(dst[to:to+size], dst[from:from+size])
		dst[to-4], dst[to-3], dst[to-2], dst[to-1] = byte(size), byte(size>>8), byte(size>>16), seq+byte(i)
	}
	return dst
}

// AppendQuery appends the command that executes a text. The answer is ExpectText's.
func AppendQuery[T []byte | string](dst []byte, sql T) []byte {
	start := len(dst)
	dst = begin(dst, comQuery)
	dst = append(dst, sql...)
	return seal(dst, start, 0)
}

// AppendPrepare appends the command that prepares a statement. The answer is ExpectPrepare's.
func AppendPrepare[T []byte | string](dst []byte, sql T) []byte {
	start := len(dst)
	dst = begin(dst, comPrepare)
	dst = append(dst, sql...)
	return seal(dst, start, 0)
}

// AppendClose appends the command that frees a prepared statement. The server does not answer it.
func AppendClose(dst []byte, s *Stmt) []byte {
	return append(dst, 5, 0, 0, 0, comClose, byte(s.ID), byte(s.ID>>8), byte(s.ID>>16), byte(s.ID>>24))
}

// AppendPing appends the command that asks for a sign of life. The answer is ExpectOK's.
func AppendPing(dst []byte) []byte { return append(dst, 1, 0, 0, 0, comPing) }

// AppendQuit appends the command that ends the connection. The server closes it without an answer.
func AppendQuit(dst []byte) []byte { return append(dst, 1, 0, 0, 0, comQuit) }

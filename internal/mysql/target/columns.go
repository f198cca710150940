package target

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"reflect"
	"unsafe"
)

// mostColumns is how many columns a result may have, in MariaDB and in MySQL.
// https://dev.mysql.com/doc/refman/9.7/en/column-count-limit.html
const mostColumns = 4096

// mostResults is how many results one answer may have. The driver keeps two numbers of each, and a procedure's loop may
// make many.
const mostResults = 10_000

// Of the first packet of an answer this much is looked at: its header, and a number of columns in its longest form.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_dt_integers.html
const (
	packetHeader   = 4
	longestInteger = 9
	longestChain   = 64 // pieces of 16 MiB: max_allowed_packet is 1 GiB at most
)

// heads is what the driver reads from, inside TLS where there is any. The driver makes room for as many columns as an
// answer claims to have, and asking for more room than there is ends a process: no recover helps. So the claim is read
// here first.
type heads struct {
	net.Conn
	head  bool   // the packet that begins, or has begun, is the first of an answer
	first []byte // what of it is looked at, as far as it has come
	left  int    // bytes of a packet that are not looked at
	chain int    // packets of the greatest length in a row: pieces of one that the driver puts together
	// results has an element for each result of the answer, as far as the driver has read it. The driver's own count is
	// looked at because where an answer ends in another result is told in more ways than a second reader would tell the
	// same.
	results *[]int64
}

// watchHeads puts heads below a connection of the driver's that has logged in. The driver has no door for that.
func watchHeads(dc driver.Conn) error {
	if v := reflect.ValueOf(dc); v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		f, r := v.Elem().FieldByName("netConn"), v.Elem().FieldByName("result")
		if r.IsValid() && r.Kind() == reflect.Struct {
			r = r.FieldByName("affectedRows")
		}
		if f.IsValid() && f.Type() == reflect.TypeFor[net.Conn]() && r.IsValid() &&
			r.Type() == reflect.TypeFor[[]int64]() {
			nc := (*net.Conn)(unsafe.Pointer(f.UnsafeAddr()))
			*nc = &heads{
				Conn: *nc, first: make([]byte, 0, packetHeader+longestInteger),
				results: (*[]int64)(unsafe.Pointer(r.UnsafeAddr())),
			}
			return nil
		}
	}
	return fmt.Errorf("the driver's connection is a %T, which cannot be watched", dc) // a driver of another make
}

// Write implements net.Conn. The driver writes only when it has read all that came, so what comes next begins an
// answer.
func (c *heads) Write(b []byte) (int, error) {
	c.head = true
	return c.Conn.Write(b)
}

// Read implements net.Conn. The driver calls it where it reads, so nothing writes results meanwhile.
func (c *heads) Read(b []byte) (int, error) {
	if len(*c.results) > mostResults {
		return 0, fmt.Errorf("an answer of more than %d results", mostResults)
	}
	n, err := c.Conn.Read(b)
	for b = b[:n]; len(b) > 0; {
		if c.left > 0 {
			k := min(c.left, len(b))
			c.left -= k
			b = b[k:]
			continue
		}
		c.first = append(c.first, b[0])
		b = b[1:]
		if len(c.first) < packetHeader {
			continue
		}
		length, looked := int(c.first[0])|int(c.first[1])<<8|int(c.first[2])<<16, 0
		more := c.chain > 0 // a piece of the packet before says nothing by itself
		if c.head && !more {
			looked = min(length, longestInteger)
		}
		packet := c.first[packetHeader:]
		if len(packet) < looked {
			continue
		}
		if c.chain++; length < 1<<24-1 {
			c.chain = 0
		} else if c.chain > longestChain {
			return 0, errors.New("malformed packet: it has no end")
		}
		if columns, long := claimed(packet); long && (columns == 0 || columns > mostColumns) {
			// to the driver no column means that another result follows
			return 0, fmt.Errorf("malformed packet: a result of %d columns", columns)
		}
		if !more {
			c.head = looked > 0 && packet[0] == 0 // after an OK a result may follow without a word of ours
		}
		c.left, c.first = length-looked, c.first[:0]
	}
	return n, err
}

// claimed is the number of columns that the first packet of an answer claims in more than one byte; not long when it is
// written otherwise, or cut short, which the driver does not survive behind its shield.
func claimed(p []byte) (columns uint64, long bool) {
	switch {
	case len(p) >= 3 && p[0] == 0xfc:
		return uint64(binary.LittleEndian.Uint16(p[1:])), true
	case len(p) >= 4 && p[0] == 0xfd:
		return uint64(p[1]) | uint64(p[2])<<8 | uint64(p[3])<<16, true
	case len(p) >= longestInteger && p[0] == 0xfe:
		return binary.LittleEndian.Uint64(p[1:]), true
	}
	return 0, false
}

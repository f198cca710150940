package logdigest

// keys finds the class of a statement by its key. The zero value is ready.
type keys struct {
	slots []keySlot
	n     int
}

type keySlot struct {
	key   [2]uint64
	class uint32 // 0 = free
}

// maxKeys bounds the table; statements whose keys it does not hold are found by their fingerprint.
const maxKeys = 1 << 20

// get returns what put was given for a key, 0 for nothing.
func (k *keys) get(key [2]uint64) uint32 {
	if len(k.slots) == 0 {
		return 0
	}
	mask := uint64(len(k.slots) - 1)
	for i := key[0] & mask; ; i = (i + 1) & mask {
		s := &k.slots[i]
		if s.class == 0 || s.key == key {
			return s.class
		}
	}
}

// put remembers a class, which is not 0, for a key that get does not know.
func (k *keys) put(key [2]uint64, class uint32) {
	if k.n >= maxKeys {
		return
	}
	if 3*k.n >= 2*len(k.slots) {
		old := k.slots
		k.slots = make([]keySlot, max(256, 2*len(old)))
		k.n = 0
		for _, s := range old {
			if s.class != 0 {
				k.put(s.key, s.class)
			}
		}
	}
	mask := uint64(len(k.slots) - 1)
	i := key[0] & mask
	for k.slots[i].class != 0 {
		i = (i + 1) & mask
	}
	k.slots[i] = keySlot{key, class}
	k.n++
}

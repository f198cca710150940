package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// Children returns the processes that a process has started and that have not ended, as far as /proc shows them
// (proc(5), stat field 4). What these have started is not among them.
func Children(pid int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is a good one
	var children []int
	for _, path := range stats {
		line, err := os.ReadFile(path)
		end := bytes.LastIndexByte(line, ')') // of the command's name, which may hold any character
		if err != nil || end < 0 {            // it has ended meanwhile
			continue
		}
		f := bytes.Fields(line[end+1:]) // f[0] is field 3
		if len(f) < 2 || string(f[0]) == "Z" || string(f[1]) != strconv.Itoa(pid) {
			continue
		}
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			children = append(children, child)
		}
	}
	return children
}

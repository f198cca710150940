package fault

import "github.com/dyno-perf/dyno/internal/fault"

// memoryFaults are about memory and the disk.
func memoryFaults() []fault.Fault {
	return []fault.Fault{
		smallBufferPool(), smallRedo(), smallLogBuffer(), tableCache(), sessionMemory(), ioLimit(),
		ioCapacity(), doubleBuffering(),
	}
}

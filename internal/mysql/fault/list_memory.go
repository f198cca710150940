package fault

// memoryFaults are about memory and the disk.
func memoryFaults() []Fault {
	return []Fault{
		smallBufferPool(), smallRedo(), smallLogBuffer(), tableCache(), sessionMemory(), ioLimit(),
		ioCapacity(), doubleBuffering(),
	}
}

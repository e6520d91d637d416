package render

import (
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
)

// Limits bound one render. A zero field has its default.
type Limits struct {
	// Wall is how long it may take: a minute.
	Wall time.Duration
	// CPU is how much processor time it may take: as much as Wall.
	CPU time.Duration
	// Memory is how much more than an idle worker it may have: 512 MiB.
	Memory uint64
	// OutputBytes and Objects bound the answer: 100 MiB and 50,000.
	OutputBytes int64
	Objects     int
	// ReadBytes and Files bound what it may read: 200 MiB and 100,000.
	ReadBytes int64
	Files     int
}

func (l Limits) withDefaults() Limits {
	if l.Wall <= 0 {
		l.Wall = time.Minute
	}
	if l.CPU <= 0 {
		l.CPU = l.Wall
	}
	if l.Memory == 0 {
		l.Memory = memoryMargin
	}
	if l.OutputBytes <= 0 {
		l.OutputBytes = 100 << 20
	}
	if l.Objects <= 0 {
		l.Objects = 50_000
	}
	if l.ReadBytes <= 0 {
		l.ReadBytes = 200 << 20
	}
	if l.Files <= 0 {
		l.Files = 100_000
	}
	return l
}

// reasonLimit is the reason of a fault for a render that took too much of something.
const reasonLimit = "RenderLimit"

// exceeded says which limit a render reached and what to do about it.
func exceeded(format string, args ...any) error {
	return fault.Terminalf(reasonLimit, "the render was stopped: "+format, args...)
}

func (l Limits) time() error {
	return exceeded("it took longer than %s; look for a loop in templates or jsonnet, or split the application", l.Wall)
}

func (l Limits) processor() error {
	return exceeded("it took more than %s of processor time; look for a loop in templates or jsonnet, or split the application", l.CPU)
}

func (l Limits) memory() error {
	return exceeded("it took more than %d MiB of memory; look for what repeats or multiplies text, or split the application", l.Memory>>20)
}

func (l Limits) stack() error {
	return exceeded("something in it calls itself without end (the stack came to %d MiB); correct the recursion", stackLimit>>20)
}

func (l Limits) output() error {
	return exceeded("its manifests are larger than %d MiB together; split the application", l.OutputBytes>>20)
}

func (l Limits) objects() error {
	return exceeded("it gives more than %d objects; split the application", l.Objects)
}

func (l Limits) read() error {
	return exceeded("it reads more than %d MiB; give the application a smaller folder, or move large files out of it", l.ReadBytes>>20)
}

func (l Limits) files() error {
	return exceeded("it looks at more than %d files; give the application a smaller folder", l.Files)
}

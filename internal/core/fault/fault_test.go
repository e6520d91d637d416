package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/towline-cd/towline/internal/core/fault"
)

func TestClassAndReason(t *testing.T) {
	tests := map[string]struct {
		err        error
		wantClass  fault.Class
		wantReason string
	}{
		"nobody classified it":            {io.EOF, fault.Transient, ""},
		"transient":                       {fault.Transientf("RemoteDown", "asking: %w", io.EOF), fault.Transient, "RemoteDown"},
		"waiting":                         {fault.Waitingf("NoCluster", "no cluster"), fault.Waiting, "NoCluster"},
		"terminal":                        {fault.Terminalf("NoSuchRepo", "no repo"), fault.Terminal, "NoSuchRepo"},
		"wrapped with context":            {fmt.Errorf("rendering source 1: %w", fault.Terminalf("Bad", "bad")), fault.Terminal, "Bad"},
		"joined":                          {errors.Join(io.EOF, fault.Terminalf("Bad", "bad")), fault.Terminal, "Bad"},
		"classified twice, the outer one": {fault.Transientf("Outer", "again: %w", fault.Terminalf("Inner", "bad")), fault.Transient, "Outer"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fault.ClassOf(tc.err); got != tc.wantClass {
				t.Errorf("ClassOf(%v) = %v, want %v", tc.err, got, tc.wantClass)
			}
			if got := fault.ReasonOf(tc.err); got != tc.wantReason {
				t.Errorf("ReasonOf(%v) = %q, want %q", tc.err, got, tc.wantReason)
			}
		})
	}
}

func TestErrorKeepsItsCause(t *testing.T) {
	err := fault.Terminalf("BadPath", "reading %q: %w", "a.yaml", io.ErrUnexpectedEOF)

	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("errors.Is(%v, io.ErrUnexpectedEOF) = false", err)
	}
	if want := `reading "a.yaml": unexpected EOF`; err.Error() != want {
		t.Errorf("message = %q, want %q", err, want)
	}
	if got := (&fault.Error{Reason: "Alone"}).Error(); got != "Alone" {
		t.Errorf("message without a cause = %q", got)
	}
}

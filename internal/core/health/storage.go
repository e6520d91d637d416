package health

import "fmt"

func volumeClaim(f *fields) Health {
	switch phase := f.text("status", "phase"); phase {
	case "Bound":
		return Health{Status: Healthy}
	case "Pending":
		return progressing("Waiting for a volume to be bound")
	case "Lost":
		return degraded("The bound volume is lost")
	default:
		return Health{Status: Unknown, Message: fmt.Sprintf("The claim's phase is %q", phase)}
	}
}

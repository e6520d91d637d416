package health

import "fmt"

// disruptionBudget is Healthy when its controller could work it out. That it allows no disruption now can be on
// purpose, or pass with the next ready pod, so it is no failure.
func disruptionBudget(f *fields) Health {
	if h, waiting := f.unobserved(); waiting {
		return h
	}
	c := f.condition("DisruptionAllowed")
	switch {
	case c == condition{}:
		return progressing("Waiting for the controller to count the pods")
	case c.Status == "False" && c.Reason != "InsufficientPods":
		return degraded("The budget cannot be worked out: %s", c.text())
	case c.Status == "False":
		return Health{Status: Healthy, Message: fmt.Sprintf("No pod may be evicted: %d healthy, %d required",
			f.count("status", "currentHealthy"), f.count("status", "desiredHealthy"))}
	}
	return Health{Status: Healthy}
}

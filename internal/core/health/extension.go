package health

func apiService(f *fields) Health {
	c := f.condition("Available")
	if c == (condition{}) {
		return progressing("Waiting for the API server to judge the service")
	}
	message := c.Reason + ": " + c.Message
	if c.isTrue() {
		return Health{Status: Healthy, Message: message}
	}
	return Health{Status: Progressing, Message: message}
}

func customResourceDefinition(f *fields) Health {
	if len(f.list("status", "conditions")) == 0 {
		return progressing("Waiting for the API server to judge the names")
	}
	if c := f.condition("Terminating"); c.isTrue() {
		return progressing("Its custom resources are being deleted: %s", c.Message)
	}
	if c := f.condition("NamesAccepted"); c.Status == "False" {
		return degraded("The names are not accepted: %s", c.Message)
	}
	established := f.condition("Established")
	// Every new definition passes through this for some milliseconds; calling it a failure would fail the sync.
	if established.Reason == "Installing" && !established.isTrue() {
		return progressing("Waiting for the kind to be served")
	}
	if !established.isTrue() {
		return degraded("The kind is not established: %s", established.Message)
	}
	if c := f.condition("NonStructuralSchema"); c.isTrue() {
		return degraded("The schema is not structural: %s", c.Message)
	}
	return Health{Status: Healthy}
}

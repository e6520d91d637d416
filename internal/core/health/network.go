package health

func service(f *fields) Health {
	if f.text("spec", "type") != "LoadBalancer" {
		return Health{Status: Healthy}
	}
	return loadBalanced(f)
}

func ingress(f *fields) Health {
	return loadBalanced(f)
}

// loadBalanced is Healthy once somebody has published an address.
func loadBalanced(f *fields) Health {
	if len(f.list("status", "loadBalancer", "ingress")) == 0 {
		return progressing("Waiting for a load balancer address: status.loadBalancer.ingress is empty")
	}
	return Health{Status: Healthy}
}

//go:build !faults

package main

import "k8s.io/client-go/rest"

// withFaults does nothing: this build is for use.
func withFaults(*rest.Config) {}

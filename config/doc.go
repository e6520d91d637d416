// Package config holds what is put onto a cluster: the CRDs, the installations and the chart. There is no code in it; its
// tests hold the two forms of an installation against each other.
package config

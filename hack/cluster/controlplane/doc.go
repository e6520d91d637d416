// Package controlplane builds and runs a real Kubernetes control plane (etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and kwok in place of kubelets) on loopback for tests, benchmarks and
// development; it must not be imported by the product, import Kubernetes' server code, or listen on anything else.
package controlplane

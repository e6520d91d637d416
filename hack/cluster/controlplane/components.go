package controlplane

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// The names of the programs, as Halt and Resume take them.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

const (
	serviceRange = "10.0.0.0/16"
	serviceIP    = "10.0.0.1"
	// podRange does not meet serviceRange; kwok's own default would.
	podRange = "10.64.0.0/10"
	// advertised is an address that is reserved for documentation. The API server refuses to publish a loopback
	// address as the endpoint of the kubernetes service, and no fake pod will ever dial it.
	advertised = "192.0.2.1"
)

// ports are what the cluster listens on, all on 127.0.0.1.
type ports struct {
	Etcd, APIServer, Kwok int
}

// freePorts asks the kernel for ports that are free now. Another process may take one before our child does, so
// whoever uses them must be ready to ask again.
func freePorts() (ports, error) {
	var found [3]int
	for i := range found {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return ports{}, fmt.Errorf("looking for a free port: %w", err)
		}
		// Closed together at the end, so that the three differ.
		defer listener.Close()
		address, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return ports{}, fmt.Errorf("looking for a free port: %s is no TCP address", listener.Addr())
		}
		found[i] = address.Port
	}
	return ports{Etcd: found[0], APIServer: found[1], Kwok: found[2]}, nil
}

func (p *Plane) etcdArgs() []string {
	url := fmt.Sprintf("https://127.0.0.1:%d", p.ports.Etcd)
	// The only member has no peers; it still insists on a listener, which gets any free port.
	const peer = "https://127.0.0.1:0"
	args := []string{
		"--name=towline",
		"--data-dir=" + p.etcdData(),
		"--listen-client-urls=" + url,
		"--advertise-client-urls=" + url,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=towline=" + peer,
		"--client-cert-auth=true",
		"--trusted-ca-file=" + p.pki.file("ca.crt"),
		"--cert-file=" + p.pki.file("server.crt"),
		"--key-file=" + p.pki.file("server.key"),
		"--peer-client-cert-auth=true",
		"--peer-trusted-ca-file=" + p.pki.file("ca.crt"),
		"--peer-cert-file=" + p.pki.file("server.crt"),
		"--peer-key-file=" + p.pki.file("server.key"),
		"--quota-backend-bytes=8589934592",
		"--log-level=warn",
	}
	if !p.opts.Fsync {
		args = append(args, "--unsafe-no-fsync=true")
	}
	return append(args, flags(p.opts.EtcdArgs)...)
}

func (p *Plane) apiServerArgs() []string {
	// An extra cluster has an authority of its own but its etcd belongs to the first cluster's.
	store := p.root().pki
	args := []string{
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", p.ports.APIServer),
		"--advertise-address=" + advertised,
		fmt.Sprintf("--etcd-servers=https://127.0.0.1:%d", p.root().ports.Etcd),
		"--etcd-prefix=" + p.prefix,
		"--etcd-cafile=" + store.file("ca.crt"),
		"--etcd-certfile=" + store.file("etcd-client.crt"),
		"--etcd-keyfile=" + store.file("etcd-client.key"),
		"--client-ca-file=" + p.pki.file("ca.crt"),
		"--tls-cert-file=" + p.pki.file("server.crt"),
		"--tls-private-key-file=" + p.pki.file("server.key"),
		"--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.pki.file("sa.pub"),
		"--service-account-signing-key-file=" + p.pki.file("sa.key"),
		"--service-cluster-ip-range=" + serviceRange,
		"--allow-privileged=true",
		// How the API server reaches kwok for logs and exec, and aggregated API servers.
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority=" + p.pki.file("ca.crt"),
		"--kubelet-client-certificate=" + p.pki.file("front-proxy.crt"),
		"--kubelet-client-key=" + p.pki.file("front-proxy.key"),
		"--proxy-client-cert-file=" + p.pki.file("front-proxy.crt"),
		"--proxy-client-key-file=" + p.pki.file("front-proxy.key"),
		"--requestheader-client-ca-file=" + p.pki.file("ca.crt"),
		"--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
	}
	if p.opts.Audit != AuditNone {
		args = append(args,
			"--audit-policy-file="+filepath.Join(p.dir, "audit-policy.yaml"),
			"--audit-log-path="+p.AuditLog(),
			"--audit-log-format=json",
			// In megabytes; without it the log would be rotated away from its reader at 100.
			"--audit-log-maxsize=1000000",
		)
	}
	return append(args, flags(p.opts.APIServerArgs)...)
}

func (p *Plane) controllerManagerArgs() []string {
	return []string{
		"--kubeconfig=" + filepath.Join(p.dir, "kubeconfig-controller-manager"),
		"--secure-port=0",
		// One instance, so no lease: it starts a second sooner and survives a stopped API server.
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		// kwok's first heartbeats may come later than the usual 50 s on a busy machine, and then every pod is not ready
		// for a minute.
		"--node-monitor-grace-period=30m",
		"--service-account-private-key-file=" + p.pki.file("sa.key"),
		"--root-ca-file=" + p.pki.file("ca.crt"),
		"--cluster-signing-cert-file=" + p.pki.file("ca.crt"),
		"--cluster-signing-key-file=" + p.pki.file("ca.key"),
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	}
}

func (p *Plane) schedulerArgs() []string {
	return []string{
		"--kubeconfig=" + filepath.Join(p.dir, "kubeconfig-scheduler"),
		"--secure-port=0",
		"--leader-elect=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	}
}

func (p *Plane) kwokArgs() []string {
	args := []string{
		"--kubeconfig=" + filepath.Join(p.dir, "kubeconfig-kwok"),
		"--config=" + p.bin.Stages(),
		"--manage-all-nodes=true",
		"--cidr=" + podRange,
		"--node-ip=127.0.0.1",
		fmt.Sprintf("--node-port=%d", p.ports.Kwok),
		// Without an address it would serve its node port on every interface.
		fmt.Sprintf("--server-address=127.0.0.1:%d", p.ports.Kwok),
		"--tls-cert-file=" + p.pki.file("server.crt"),
		"--tls-private-key-file=" + p.pki.file("server.key"),
	}
	for _, file := range p.opts.KwokConfig {
		args = append(args, "--config="+file)
	}
	return args
}

// writeKeys makes the certificates and kubeconfigs of all parts. They name the server's port, so they are made
// again with every start; the authority and the service account keys stay.
func (p *Plane) writeKeys() error {
	pairs := map[string]subject{
		"server":      {user: "towline-test-server", server: true},
		"etcd-client": {user: "kube-apiserver"},
		"front-proxy": {user: "front-proxy"},
	}
	for name, s := range pairs {
		if err := p.pki.issueFiles(name, s); err != nil {
			return err
		}
	}
	configs := map[string]subject{
		p.Kubeconfig(): {user: adminUser, groups: []string{adminGroup}},
		filepath.Join(p.dir, "kubeconfig-controller-manager"): {user: "system:kube-controller-manager"},
		filepath.Join(p.dir, "kubeconfig-scheduler"):          {user: "system:kube-scheduler"},
		// kwok plays kubelets of all nodes, which no built-in role allows to one user.
		filepath.Join(p.dir, "kubeconfig-kwok"): {user: "kwok", groups: []string{adminGroup}},
	}
	for path, s := range configs {
		if err := p.writeKubeconfig(path, s); err != nil {
			return err
		}
	}
	if p.opts.Audit == AuditNone {
		return nil
	}
	if err := os.WriteFile(filepath.Join(p.dir, "audit-policy.yaml"), p.opts.Audit.policy(), 0o600); err != nil {
		return fmt.Errorf("writing the audit policy: %w", err)
	}
	return nil
}

// flags takes arguments as "key=value" or "--key=value".
func flags(args []string) []string {
	out := make([]string, 0, len(args))
	for _, arg := range args {
		out = append(out, "--"+strings.TrimLeft(arg, "-"))
	}
	return out
}

package server

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/tree"
)

// Tree is the resource tree of an application.
type Tree struct {
	Nodes         []Node `json:"nodes"`
	OrphanedNodes []Node `json:"orphanedNodes,omitempty"`
	Hosts         []Host `json:"hosts,omitempty"`
}

// Node is an object of a tree.
type Node struct {
	NodeRef
	ParentRefs      []NodeRef   `json:"parentRefs,omitempty"`
	Info            []InfoItem  `json:"info,omitempty"`
	NetworkingInfo  *Networking `json:"networkingInfo,omitempty"`
	ResourceVersion string      `json:"resourceVersion,omitempty"`
	Images          []string    `json:"images,omitempty"`
	Health          *Health     `json:"health,omitempty"`
	CreatedAt       *time.Time  `json:"createdAt,omitempty"`
}

// NodeRef names an object.
type NodeRef struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// InfoItem is a value that is shown beside an object.
type InfoItem struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Networking is what a network view needs to know.
type Networking struct {
	TargetLabels map[string]string `json:"targetLabels,omitempty"`
	TargetRefs   []NodeRef         `json:"targetRefs,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
}

// Health is how it is with an object.
type Health struct {
	Status             string       `json:"status,omitempty"`
	Message            string       `json:"message,omitempty"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// Host is a node of the cluster that pods of the application run on.
type Host struct {
	Name string `json:"name"`
}

func (s *Server) resourceTree(req *Request) (any, error) {
	if s.Inspector == nil {
		return nil, absent("the resource tree")
	}
	family, err := s.Inspector.Tree(req, req.app())
	if err != nil {
		return nil, err
	}
	return treeOf(family.Tree, family.Orphans), nil
}

func treeOf(t tree.Tree, orphans []*object.Fact) Tree {
	out := Tree{Nodes: make([]Node, 0, len(t.Nodes))}
	facts := make(map[object.Key]*object.Fact, len(t.Nodes))
	for _, n := range t.Nodes {
		facts[n.Fact.Key] = n.Fact
	}
	hosts := map[string]bool{}
	for _, n := range t.Nodes {
		node := nodeOf(n.Fact)
		for _, p := range n.Parents {
			ref := refOf(p.Key)
			if f := facts[p.Key]; f != nil {
				ref.UID = f.UID
			}
			node.ParentRefs = append(node.ParentRefs, ref)
		}
		out.Nodes = append(out.Nodes, node)
		if host := n.Fact.Columns.Get("node"); host != "" && !hosts[host] {
			hosts[host] = true
			out.Hosts = append(out.Hosts, Host{Name: host})
		}
	}
	for _, f := range orphans {
		out.OrphanedNodes = append(out.OrphanedNodes, nodeOf(f))
	}
	out.Hosts = sortedBy(out.Hosts, func(h Host) string { return h.Name })
	return out
}

func refOf(k object.Key) NodeRef {
	return NodeRef{Group: k.Group, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
}

func nodeOf(f *object.Fact) Node {
	n := Node{NodeRef: refOf(f.Key), ResourceVersion: f.ResourceVersion, Images: f.Images, NetworkingInfo: networking(f)}
	n.Version, n.UID = f.Version, f.UID
	if f.Created > 0 {
		at := time.Unix(f.Created, 0).UTC()
		n.CreatedAt = &at
	}
	if f.Health.Status != "" {
		n.Health = &Health{Status: string(f.Health.Status), Message: f.Health.Message}
	}
	names := []struct{ column, name string }{
		{"status", "Status Reason"}, {"node", "Node"}, {"restarts", "Restart Count"}, {"type", "Type"}, {"done", "Completed"},
	}
	for _, c := range names {
		if v := f.Columns.Get(c.column); v != "" && (c.column != "restarts" || v != "0") {
			n.Info = append(n.Info, InfoItem{Name: c.name, Value: v})
		}
	}
	if v := f.Columns.Get("ready"); v != "" {
		name := "Ready"
		if f.Key.Kind == "Pod" {
			name = "Containers"
		}
		n.Info = append(n.Info, InfoItem{Name: name, Value: v})
	}
	return n
}

// networking is who an object sends traffic to.
func networking(f *object.Fact) *Networking {
	var out Networking
	for _, r := range f.Refs {
		switch {
		case r.Link == object.Selects:
			out.TargetLabels = r.Selector.Map()
		case r.Link == object.Names && f.Key.Kind == "Ingress" && r.Key.Kind == "Service":
			out.TargetRefs = append(out.TargetRefs, refOf(r.Key))
		}
	}
	if f.Key.Group == "" && f.Key.Kind == "Pod" {
		out.Labels = f.Labels.Map()
	}
	if out.TargetLabels == nil && out.TargetRefs == nil && out.Labels == nil {
		return nil
	}
	return &out
}

package tree

import "time"

// Listed is a tree as an API tells it, with Argo CD's names.
type Listed struct {
	Nodes   []ListedNode `json:"nodes"`
	Orphans []ListedNode `json:"orphanedNodes,omitempty"`
}

// ListedNode is an object of such a tree.
type ListedNode struct {
	Ref
	Parents []Ref         `json:"parentRefs,omitempty"`
	Health  *ListedHealth `json:"health,omitempty"`
	Images  []string      `json:"images,omitempty"`
	Created *time.Time    `json:"createdAt,omitempty"`
}

// ListedHealth is how it is with an object.
type ListedHealth struct {
	Status  string `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
}

// Ref names an object.
type Ref struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// same says that two references are about one object; not all of them have a UID.
func (r Ref) same(other Ref) bool {
	return r.Group == other.Group && r.Kind == other.Kind && r.Namespace == other.Namespace && r.Name == other.Name
}

// Branch is an object at its depth, with the lines that lead to it.
type Branch struct {
	ListedNode
	// Lead is what a picture has before the object.
	Lead string
}

// Branches are the nodes as a picture has them: each below its first parent, and those without one at the left.
func (l Listed) Branches() []Branch {
	var out []Branch
	children := map[Ref][]ListedNode{}
	known := map[Ref]bool{}
	key := func(r Ref) Ref { return Ref{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name} }
	for _, n := range l.Nodes {
		known[key(n.Ref)] = true
	}
	var roots []ListedNode
	for _, n := range l.Nodes {
		if len(n.Parents) == 0 || !known[key(n.Parents[0])] || n.Parents[0].same(n.Ref) {
			roots = append(roots, n)
			continue
		}
		children[key(n.Parents[0])] = append(children[key(n.Parents[0])], n)
	}
	done := map[Ref]bool{}
	var grow func(n ListedNode, lead, below string)
	grow = func(n ListedNode, lead, below string) {
		if done[key(n.Ref)] {
			return
		}
		done[key(n.Ref)] = true
		out = append(out, Branch{ListedNode: n, Lead: lead})
		under := children[key(n.Ref)]
		for i, c := range under {
			if i == len(under)-1 {
				grow(c, below+"└─", below+"  ")
			} else {
				grow(c, below+"├─", below+"│ ")
			}
		}
	}
	for _, n := range roots {
		grow(n, "", "")
	}
	// Objects that are each other's parents have no root; they are there all the same.
	for _, n := range l.Nodes {
		grow(n, "", "")
	}
	return out
}

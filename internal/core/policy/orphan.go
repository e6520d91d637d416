package policy

// Orphans says that a project wants to hear of objects that no application has.
type Orphans struct {
	// Warn says that its applications tell of them.
	Warn bool
	// Ignore are those that it does not want to hear of; the fields are globs. An empty kind or name stands for any, an
	// empty group is the group of the core.
	Ignore []Kind
}

// alwaysIgnored is what every namespace has.
var alwaysIgnored = []Kind{
	{Kind: "ServiceAccount", Name: "default"},
	{Kind: "ConfigMap", Name: "kube-root-ca.crt"},
}

// Ignores says whether an object in a namespace is none that the project wants to hear of. A pattern that cannot be
// understood ignores nothing: hearing too much is the safe side here.
func (o Orphans) Ignores(namespace string, object Kind) bool {
	if namespace == "default" && object == (Kind{Kind: "Service", Name: "kubernetes"}) {
		return true
	}
	for _, rules := range [][]Kind{alwaysIgnored, o.Ignore} {
		for _, rule := range rules {
			if rule.covers(object) {
				return true
			}
		}
	}
	return false
}

func (k Kind) covers(object Kind) bool {
	matches := func(glob, value string) bool { return pattern{glob: glob}.match(value) == hits }
	return (k.Kind == "" || matches(k.Kind, object.Kind)) &&
		matches(k.Group, object.Group) &&
		(k.Name == "" || matches(k.Name, object.Name))
}

package cli

import (
	"maps"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// projFlags describe a project. Each that is given replaces a whole list.
type projFlags struct {
	description                     string
	destinations, sources, keys     []string
	namespaces, accounts            []string
	orphans, warn                   bool
	allowCluster, denyCluster       []string
	allowNamespaced, denyNamespaced []string
}

func (o *projFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.description, "description", "", "what the project is for")
	f.StringArrayVarP(&o.destinations, "dest", "d", nil, "allowed destination, as in https://10.0.0.1:6443,default (may be repeated)")
	f.StringArrayVarP(&o.sources, "src", "s", nil, "allowed repository (may be repeated)")
	f.StringSliceVar(&o.keys, "signature-keys", nil, "keys of which one must have signed a commit")
	f.BoolVar(&o.orphans, "orphaned-resources", false, "look for objects that no application owns")
	f.BoolVar(&o.warn, "orphaned-resources-warn", false, "warn of them in the conditions of applications")
	f.StringArrayVar(&o.allowCluster, "allow-cluster-resource", nil, "allowed kind that is in no namespace, as in GROUP/KIND[/NAME]")
	f.StringArrayVar(&o.denyCluster, "deny-cluster-resource", nil, "denied kind that is in no namespace")
	f.StringArrayVar(&o.allowNamespaced, "allow-namespaced-resource", nil, "allowed kind that is in namespaces, as in GROUP/KIND")
	f.StringArrayVar(&o.denyNamespaced, "deny-namespaced-resource", nil, "denied kind that is in namespaces")
	f.StringSliceVar(&o.namespaces, "source-namespaces", nil, "namespaces that applications may be declared in")
	f.StringArrayVar(&o.accounts, "dest-service-accounts", nil,
		"service account for a destination, as in https://10.0.0.1:6443,default,deployer (may be repeated)")
}

// edit is what the flags that were typed say; given tells whether any was.
func (o *projFlags) edit(f *pflag.FlagSet) (edit func(*v1alpha1.AppProjectSpec), given bool, err error) {
	destinations, err := split(o.destinations, 2, "--dest is SERVER,NAMESPACE, not %q")
	if err != nil {
		return nil, false, err
	}
	accounts, err := split(o.accounts, 3, "--dest-service-accounts is SERVER,NAMESPACE,ACCOUNT, not %q")
	if err != nil {
		return nil, false, err
	}
	for _, k := range o.keys {
		if err := checkKey(k); err != nil {
			return nil, false, err
		}
	}
	lists, err := o.kinds()
	if err != nil {
		return nil, false, err
	}
	sets := map[string]func(*v1alpha1.AppProjectSpec){
		"description": func(s *v1alpha1.AppProjectSpec) { s.Description = o.description },
		"dest": func(s *v1alpha1.AppProjectSpec) {
			s.Destinations = each(destinations, func(p []string) v1alpha1.ApplicationDestination {
				return v1alpha1.ApplicationDestination{Server: p[0], Namespace: p[1]}
			})
		},
		"src": func(s *v1alpha1.AppProjectSpec) { s.SourceRepos = o.sources },
		"signature-keys": func(s *v1alpha1.AppProjectSpec) {
			s.SignatureKeys = each(o.keys, func(k string) v1alpha1.SignatureKey { return v1alpha1.SignatureKey{KeyID: k} })
		},
		"source-namespaces": func(s *v1alpha1.AppProjectSpec) { s.SourceNamespaces = o.namespaces },
		"dest-service-accounts": func(s *v1alpha1.AppProjectSpec) {
			s.DestinationServiceAccounts = each(accounts, func(p []string) v1alpha1.ApplicationDestinationServiceAccount {
				return v1alpha1.ApplicationDestinationServiceAccount{Server: p[0], Namespace: p[1], DefaultServiceAccount: p[2]}
			})
		},
		"orphaned-resources":      func(s *v1alpha1.AppProjectSpec) { o.watchOrphans(s, f) },
		"orphaned-resources-warn": func(s *v1alpha1.AppProjectSpec) { o.watchOrphans(s, f) },
	}
	maps.Copy(sets, lists)
	for name := range sets {
		given = given || f.Changed(name)
	}
	return func(s *v1alpha1.AppProjectSpec) {
		for name, set := range sets {
			if f.Changed(name) {
				set(s)
			}
		}
	}, given, nil
}

// watchOrphans keeps what is ignored, where something was.
func (o *projFlags) watchOrphans(s *v1alpha1.AppProjectSpec, f *pflag.FlagSet) {
	if !o.orphans && !f.Changed("orphaned-resources-warn") {
		s.OrphanedResources = nil
		return
	}
	if s.OrphanedResources == nil {
		s.OrphanedResources = &v1alpha1.OrphanedResourcesMonitorSettings{}
	}
	if f.Changed("orphaned-resources-warn") {
		s.OrphanedResources.Warn = &o.warn
	}
}

func (o *projFlags) kinds() (map[string]func(*v1alpha1.AppProjectSpec), error) {
	out := map[string]func(*v1alpha1.AppProjectSpec){}
	for name, l := range map[string]struct {
		kindList
		values []string
	}{
		"allow-cluster-resource":    {kindList{}, o.allowCluster},
		"deny-cluster-resource":     {kindList{denied: true}, o.denyCluster},
		"allow-namespaced-resource": {kindList{namespaced: true}, o.allowNamespaced},
		"deny-namespaced-resource":  {kindList{namespaced: true, denied: true}, o.denyNamespaced},
	} {
		var kinds []v1alpha1.ClusterResourceRestriction
		for _, v := range l.values {
			parts := strings.Split(v, "/")
			var r v1alpha1.ClusterResourceRestriction
			switch {
			case len(parts) == 1:
				r.Kind = parts[0]
			case len(parts) == 2:
				r.Group, r.Kind = parts[0], parts[1]
			case len(parts) == 3 && !l.namespaced:
				r.Group, r.Kind, r.Name = parts[0], parts[1], parts[2]
			default:
				return nil, usagef("--%s is GROUP/KIND, not %q", name, v)
			}
			kinds = append(kinds, r)
		}
		out[name] = func(s *v1alpha1.AppProjectSpec) { l.put(s, kinds) }
	}
	return out, nil
}

// split cuts values at commas into a number of parts.
func split(values []string, n int, wrong string) ([][]string, error) {
	var out [][]string
	for _, v := range values {
		parts := strings.Split(v, ",")
		if len(parts) != n {
			return nil, usagef(wrong, v)
		}
		out = append(out, parts)
	}
	return out, nil
}

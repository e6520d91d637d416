package plan

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// Options are the sync options of an application or an operation, as written.
type Options []string

// OptionsOf are the options that an application asks for.
func OptionsOf(app *v1alpha1.Application) Options {
	if app.Spec.SyncPolicy == nil {
		return nil
	}
	return Options(app.Spec.SyncPolicy.SyncOptions)
}

// value is what an option is set to; the last one counts.
func (o Options) value(name string) string {
	return object.Option(strings.Join(o, ","), name)
}

// has reports whether an option is set to true.
func (o Options) has(name string) bool { return o.value(name) == v1alpha1.SyncOptionValueTrue }

// Propagation is how objects are deleted that others depend on.
func (o Options) Propagation() metav1.DeletionPropagation {
	switch o.value(v1alpha1.SyncOptionPrunePropagationPolicy) {
	case v1alpha1.SyncOptionValueBackground:
		return metav1.DeletePropagationBackground
	case v1alpha1.SyncOptionValueOrphan:
		return metav1.DeletePropagationOrphan
	default:
		return metav1.DeletePropagationForeground
	}
}

// Handling is how one object is written and deleted: its own options, and the
// application's where it has none.
type Handling struct {
	// Replace writes the object whole instead of applying it.
	Replace bool
	// Force makes the object anew where it cannot be changed.
	Force bool
	// Unchecked takes fields that the schema does not have.
	Unchecked bool
	// Late says that the object's kind may come to be served during the sync.
	Late bool
}

// handling reads how an object is written. own are its sync options.
func (o Options) handling(own string) Handling {
	on := func(name string) bool {
		v := object.Option(own, name)
		return v == v1alpha1.SyncOptionValueTrue || v == "" && o.has(name)
	}
	validate := object.Option(own, v1alpha1.SyncOptionValidate)
	if validate == "" {
		validate = o.value(v1alpha1.SyncOptionValidate)
	}
	return Handling{
		Replace:   on(v1alpha1.SyncOptionReplace),
		Force:     object.Option(own, v1alpha1.SyncOptionForce) == v1alpha1.SyncOptionValueTrue,
		Unchecked: validate == v1alpha1.SyncOptionValueFalse,
		Late:      on(v1alpha1.SyncOptionSkipDryRunOnMissingResource),
	}
}

// pruning is what an object's options say about pruning it: "", "false" or
// "confirm". Its own word comes before the application's.
func (o Options) pruning(own string) string { return o.either(own, v1alpha1.SyncOptionPrune) }

// deleting is the same for the deletion of the application.
func (o Options) deleting(own string) string { return o.either(own, v1alpha1.SyncOptionDelete) }

func (o Options) either(own, name string) string {
	if v := object.Option(own, name); v != "" {
		return v
	}
	return o.value(name)
}

// pruneLast reports whether an object is pruned after everything else.
func (o Options) pruneLast(own string) bool {
	return o.either(own, v1alpha1.SyncOptionPruneLast) == v1alpha1.SyncOptionValueTrue
}

// known are the sync options that do what they say. What is not among them is
// named to the user.
var known = map[string][]string{
	v1alpha1.SyncOptionValidate:                    {"true", "false"},
	v1alpha1.SyncOptionCreateNamespace:             {"true", "false"},
	v1alpha1.SyncOptionPruneLast:                   {"true", "false"},
	v1alpha1.SyncOptionPrunePropagationPolicy:      {"foreground", "background", "orphan"},
	v1alpha1.SyncOptionPrune:                       {"true", "false", "confirm"},
	v1alpha1.SyncOptionDelete:                      {"true", "false", "confirm"},
	v1alpha1.SyncOptionReplace:                     {"true", "false"},
	v1alpha1.SyncOptionForce:                       {"true", "false"},
	v1alpha1.SyncOptionServerSideApply:             {"true", "false"},
	v1alpha1.SyncOptionClientSideApplyMigration:    {"true"},
	v1alpha1.SyncOptionApplyOutOfSyncOnly:          {"true", "false"},
	v1alpha1.SyncOptionSkipDryRunOnMissingResource: {"true", "false"},
	v1alpha1.SyncOptionRespectIgnoreDifferences:    {"true", "false"},
	v1alpha1.SyncOptionFailOnSharedResource:        {"true", "false"},
}

// strange lists the options that mean nothing here.
func (o Options) strange() []string {
	var out []string
	for _, option := range o {
		name, value, assigned := strings.Cut(strings.ReplaceAll(option, " ", ""), "=")
		if !assigned {
			value = v1alpha1.SyncOptionValueTrue
		}
		if option != "" && !slices.Contains(known[name], value) {
			out = append(out, option)
		}
	}
	return out
}

// OptionValues are the values of a sync option that mean something here; nil if
// there is no such option.
func OptionValues(name string) []string { return slices.Clone(known[name]) }

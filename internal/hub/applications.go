package hub

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Applications are the applications for those who write them by hand: they are read from the server, and what is written
// is in the cache at once.
type Applications struct{ cache *Cache }

// ByHand are the applications, for those who write them by hand.
func (k *Cache) ByHand() Applications { return Applications{k} }

// Get reads one from the server, by object.AppName.
func (a Applications) Get(ctx context.Context, name string) (*v1alpha1.Application, error) {
	app, err := a.cache.Client.Application(ctx, name)
	if err != nil {
		return nil, err
	}
	app.ManagedFields = nil
	return app, nil
}

// Create makes one where it says.
func (a Applications) Create(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	made, err := a.cache.MakeApplication(ctx, app)
	if err != nil {
		return nil, err
	}
	a.cache.made(made)
	return made, nil
}

// Patch merges a change into one. With a resource version in the patch the server refuses it for any other.
func (a Applications) Patch(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error) {
	app, err := a.cache.patch(ctx, name, patch, v1alpha1.FieldManagerAction)
	if err != nil {
		return nil, err
	}
	app.ManagedFields = nil
	a.cache.keep(app)
	return app, nil
}

// Delete asks the server to delete the very one that has the UID.
func (a Applications) Delete(ctx context.Context, name string, uid types.UID) error {
	return a.cache.DeleteApplication(ctx, name, uid)
}

package cluster

import (
	"fmt"
	"testing"

	"k8s.io/client-go/rest"
)

func TestUsersHaveOneClientEach(t *testing.T) {
	c, err := Open(&rest.Config{Host: "https://127.0.0.1:1"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	as := func(user string) *Client {
		t.Helper()
		client, err := c.As(user)
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	first := as("first")
	if first != as("first") || first == as("second") || first == c.Client {
		t.Error("users and clients are mixed up")
	}
	if first.user != "first" || first.known != c || c.Client.user != "" {
		t.Errorf("it acts as %q, we as %q", first.user, c.Client.user)
	}
	for i := range 2 * mostUsers {
		as(fmt.Sprint(i))
		// Who is asked for stays.
		if as("first") != first {
			t.Fatalf("a client that is in use was dropped after %d others", i)
		}
	}
	if len(c.others) > mostUsers {
		t.Errorf("%d clients are kept", len(c.others))
	}
}

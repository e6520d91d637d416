package forge

import (
	"encoding/binary"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeptIsBounded(t *testing.T) {
	k := newKept()
	key := func(n int) (out [32]byte) {
		binary.BigEndian.PutUint64(out[:], uint64(n))
		return out
	}
	body := []byte(strings.Repeat("x", 512<<10))
	for i := range 200 {
		k.put(key(i), remembered{etag: "e", body: body})
		k.get(key(0)) // what is used stays
	}
	if k.bytes > maxKeptBytes || len(k.byKey) != maxKeptBytes/len(body) || k.order.Len() != len(k.byKey) {
		t.Errorf("%d bytes of %d answers are kept", k.bytes, len(k.byKey))
	}
	if _, ok := k.get(key(0)); !ok {
		t.Error("what is used was dropped")
	}
	if _, ok := k.get(key(1)); ok {
		t.Error("what is not used was kept")
	}
	k.put(key(0), remembered{body: make([]byte, maxKeptOne+1)})
	if _, ok := k.get(key(0)); ok {
		t.Error("what is too large, or what was there before it, is kept")
	}
	for i := range maxKept + 10 {
		k.put(key(1000+i), remembered{})
	}
	if len(k.byKey) > maxKept {
		t.Errorf("%d answers are kept", len(k.byKey))
	}
}

func TestLinks(t *testing.T) {
	tests := map[string]map[string]url.Values{
		"": {},
		`<https://h/p?page=2&a=1>; rel="next", <https://h/p?page=9>; rel="last"`: {"next": {"page": {"2"}, "a": {"1"}}, "last": {"page": {"9"}}},
		`<https://h/p?q=a,b&page=2>; title="x"; rel=next`:                        {"next": {"q": {"a,b"}, "page": {"2"}}},
		`nonsense`:      {},
		`<https://h/p`:  {},
		`<:>; rel=next`: {},
	}
	for header, want := range tests {
		if diff := cmp.Diff(want, links(http.Header{"Link": {header}})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", header, diff)
		}
	}
}

func TestBases(t *testing.T) {
	for api, want := range map[string]string{
		"": "https://api.github.com/", "https://ghe.example.com": "https://ghe.example.com/api/v3/", "https://ghe.example.com/api/v3": "https://ghe.example.com/api/v3/",
		"https://api.acme.ghe.com": "https://api.acme.ghe.com/", "https://host/github/": "https://host/github/api/v3/",
	} {
		if got, err := githubBase(api); err != nil || got.String() != want {
			t.Errorf("githubBase(%q) = %v, %v", api, got, err)
		}
	}
}

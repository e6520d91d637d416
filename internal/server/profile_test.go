package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/journal"
)

// TestProfiles: they are for those who may do everything, and for nobody who lacks one of it.
func TestProfiles(t *testing.T) {
	h := newServer(t, options(newWorld())).Handler()
	for who, want := range map[string]int{"admin": http.StatusOK, "dev": http.StatusForbidden} {
		if r := ask(t, h, "GET", "/debug/pprof/goroutine?debug=1", "", bearer(who)...); r.Code != want {
			t.Errorf("%s gets %d", who, r.Code)
		}
	}
	if r := ask(t, h, "GET", "/debug/pprof/heap", ""); r.Code != http.StatusUnauthorized {
		t.Errorf("nobody gets %d", r.Code)
	}
	most := grants{"dev accounts update *", "dev clusters delete *", "dev projects delete *"}
	h = writable(t, &desk{world: newWorld()}, most).Handler()
	if r := ask(t, h, "GET", "/debug/pprof/heap", "", bearer("dev")...); r.Code != http.StatusForbidden {
		t.Errorf("who may almost do everything gets %d", r.Code)
	}
	h = writable(t, &desk{world: newWorld()}, append(most, "dev repositories delete *")).Handler()
	for target, want := range map[string]int{
		"heap": http.StatusOK, "cmdline": http.StatusNotFound, "profile?seconds=61": http.StatusBadRequest, "goroutine?debug=2": http.StatusBadRequest,
	} {
		if r := ask(t, h, "GET", "/debug/pprof/"+target, "", bearer("dev")...); r.Code != want {
			t.Errorf("%s is answered with %d", target, r.Code)
		}
	}
}

// TestRequestsAreWrittenDown: every attempt to change something is a record, refused ones too, and no secret is in it.
func TestRequestsAreWrittenDown(t *testing.T) {
	var records []journal.Record
	s := writable(t, &desk{world: newWorld()}, grants{"dev applications sync web/shop"})
	s.Journal = func(r journal.Record) { records = append(records, r) }
	h := s.Handler()
	ask(t, h, "POST", "/api/v1/applications/shop/sync", `{"revision":"v1"}`, bearer("dev")...)
	ask(t, h, "DELETE", "/api/v1/applications/shop", "", bearer("dev")...)
	ask(t, h, "POST", "/api/v1/repositories", `{"repo":"https://bot:`+canary+`@x/a.git","password":"`+canary+`"}`, bearer("dev")...)
	ask(t, h, "GET", "/api/v1/applications/shop", "", bearer("admin")...)
	// Strangers cannot fill the log.
	ask(t, h, "DELETE", "/api/v1/applications/shop", "")
	ask(t, h, "POST", "/api/webhook", "{}")
	if len(records) != 3 {
		t.Fatalf("there are %d records: %+v", len(records), records)
	}
	first := records[0]
	if first.Kind != journal.Request || first.By.Subject != "dev" || first.By.Address != "192.0.2.1" || first.By.Request == "" ||
		first.Asked.Does != "POST /api/v1/applications/{name}/sync" || first.Asked.Object != "web/shop" || first.Asked.Status != 200 ||
		first.Asked.Notes["revision"] != "v1" || strings.Join(first.Asked.Rights, " ") != "applications.sync" {
		t.Errorf("the first is %+v, asked %+v", first, first.Asked)
	}
	if records[1].Asked.Status != http.StatusForbidden {
		t.Errorf("the second is %+v", records[1].Asked)
	}
	for _, r := range records {
		if line, _, err := journal.Seal(journal.Head{}, r); err != nil || strings.Contains(string(line), canary) {
			t.Errorf("%v: %s", err, line)
		}
	}
}
